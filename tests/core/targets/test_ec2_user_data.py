"""First boot: a dead-man's switch first, then blank local disks, at the end a status."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchlab.errors import TargetError
from benchlab.targets.ec2 import console, user_data
from tests.hosts import first_boot
from tests.hosts.first_boot import FirstBoot

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHlbv0QUGMJSz0nYHlDJ8cWJ7gMFEnmiqXWmDwFCWKzS"
END = datetime(2026, 1, 31, 17, 0, 30, tzinfo=UTC)
TWO = {"nvme1n1": "", "nvme2n1": ""}


def script(**fields: object) -> str:
    """User data; ``fields`` replaces default arguments."""
    made: dict[str, object] = {
        "campaign": "c1",
        "name": "tikv-1",
        "user": "admin",
        "lifetime": timedelta(hours=5),
        "ends_at": END,
    }
    return user_data.render(**{**made, **fields})  # type: ignore[arg-type]


@pytest.fixture
def boot(tmp_path: Path) -> FirstBoot:
    """A place to boot in."""
    return first_boot.here(tmp_path, host_key=KEY)


def calls_of(boot: FirstBoot, command: str) -> list[str]:
    """The arguments of every call of a command."""
    return [call.split(" ", 1)[1] for call in boot.calls if call.split()[0] == command]


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="needs shellcheck: `make setup`")
@pytest.mark.parametrize("packages", [(), ("haproxy", "sysbench")])
def test_the_script_passes_shellcheck(tmp_path: Path, packages: tuple[str, ...]) -> None:
    """Without a single warning."""
    path = tmp_path / "user_data.sh"
    path.write_text(script(packages=packages))
    done = subprocess.run(["shellcheck", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_dead_mans_switch_is_armed_before_anything_else(boot: FirstBoot) -> None:
    """Whatever happens later, the host ends itself when its lifetime is over."""
    assert script().splitlines()[1:3][0] == "set -u"
    assert script().splitlines()[2].startswith("shutdown -h +300 ")
    boot.prepare(TWO)
    assert boot.run(script()) == 0
    assert boot.calls[0].startswith("shutdown -h +300 ")


def test_a_host_whose_switch_cannot_be_armed_is_not_used(boot: FirstBoot) -> None:
    """It could be forgotten and cost money forever."""
    boot.prepare(fail=["shutdown"])
    assert boot.run(script()) != 0
    heard = console.parse(boot.console)
    assert heard.failed is not None
    assert "dead-man's switch" in heard.failed
    assert not heard.ready


def end_of(boot: FirstBoot) -> datetime:
    """The moment at which the timer ends the host."""
    timer = boot.text("/etc/systemd/system/benchlab-end.timer")
    [line] = [one for one in timer.splitlines() if one.startswith("OnCalendar=")]
    return datetime.strptime(line, "OnCalendar=%Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC)


def test_a_reboot_does_not_disarm_the_dead_mans_switch(boot: FirstBoot) -> None:
    """`shutdown` plans in /run; a timer on disk has the campaign's end, whenever it booted."""
    boot.prepare(TWO)
    assert boot.run(script()) == 0
    assert end_of(boot) == END
    assert calls_of(boot, "systemctl")[:2] == ["daemon-reload", "enable --now benchlab-end.timer"]
    timer = boot.text("/etc/systemd/system/benchlab-end.timer").splitlines()
    assert {"Persistent=true", "AccuracySec=1s"} <= set(timer)
    assert "poweroff" in boot.text("/etc/systemd/system/benchlab-end.service")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_units(boot: FirstBoot) -> None:
    """It would ignore a timer that it does not understand."""
    boot.prepare()
    assert boot.run(script()) == 0
    units = boot.folder / "root/etc/systemd/system"
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", units / "benchlab-end.timer"],
        env={"SYSTEMD_UNIT_PATH": f"{units}:", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "benchlab-end" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr


def test_a_host_without_the_timer_is_not_used(boot: FirstBoot) -> None:
    """After a reboot nothing would end it."""
    boot.prepare(fail=["systemctl"])
    assert boot.run(script()) != 0
    assert "beyond reboots" in (console.parse(boot.console).failed or "")


def test_apt_waits_while_another_one_reads_its_lists(boot: FirstBoot) -> None:
    """Images update their lists after boot; apt-get fails at once beside that."""
    boot.prepare(locked=3)
    assert boot.run(script(packages=("sysbench",))) == 0
    assert len(calls_of(boot, "apt-get")) == 3 + 2
    assert calls_of(boot, "sleep") == ["5"] * 3


def test_apt_does_not_wait_for_ever(boot: FirstBoot) -> None:
    """After five minutes the host says so."""
    boot.prepare(locked=1000)
    assert boot.run(script(packages=("sysbench",))) != 0
    assert "installing" in (console.parse(boot.console).failed or "")
    assert "Could not get lock" in boot.console


def test_blank_local_disks_become_one_file_system(boot: FirstBoot) -> None:
    """Two blank NVMe disks are striped into one XFS with reflinks, mounted at /data."""
    boot.prepare(TWO)
    assert boot.run(script()) == 0
    [created] = calls_of(boot, "mdadm")
    assert "--level=0" in created
    assert "--raid-devices=2 /dev/nvme1n1 /dev/nvme2n1" in created
    [made] = calls_of(boot, "mkfs.xfs")
    assert "reflink=1" in made
    array = boot.folder / "root/dev/md/benchlab"
    assert made.endswith(str(array))
    assert calls_of(boot, "mount") == [f"-o noatime {array} {boot.folder / 'root/data'}"]
    assert "LABEL=benchlab" in boot.text("/etc/fstab")
    assert calls_of(boot, "chown") == [f"admin: {boot.folder / 'root/data'}"]


def test_one_disk_needs_no_stripe(boot: FirstBoot) -> None:
    """A single local disk is formatted as it is."""
    boot.prepare({"nvme1n1": ""})
    assert boot.run(script()) == 0
    assert calls_of(boot, "mdadm") == []
    assert calls_of(boot, "mkfs.xfs")[0].endswith("/dev/nvme1n1")


@pytest.mark.parametrize("content", ["ext4", "partitions"])
def test_a_disk_that_is_not_blank_is_left_alone(boot: FirstBoot, content: str) -> None:
    """Neither a file system nor a partition table is overwritten."""
    boot.prepare({"nvme1n1": content, "nvme2n1": ""})
    assert boot.run(script()) == 0
    assert calls_of(boot, "mkfs.xfs")[0].endswith("/dev/nvme2n1")
    writing = [call for call in boot.calls if call.split()[0] in ("mkfs.xfs", "mdadm", "mount")]
    assert not any("nvme1n1" in call for call in writing)


def test_it_fails_if_no_local_disk_is_blank(boot: FirstBoot) -> None:
    """Instead of silently measuring the root volume."""
    boot.prepare({"nvme1n1": "ext4"})
    assert boot.run(script()) != 0
    assert "none is blank: /dev/nvme1n1" in (console.parse(boot.console).failed or "")
    assert calls_of(boot, "mkfs.xfs") == []


def test_without_local_disks_data_is_a_directory(boot: FirstBoot) -> None:
    """EBS-only instance types keep data on the root volume, which is never formatted."""
    boot.prepare()
    assert boot.run(script()) == 0
    assert (boot.folder / "root/data").is_dir()
    assert calls_of(boot, "mkfs.xfs") + calls_of(boot, "mount") == []
    assert console.parse(boot.console).ready


def test_it_reports_its_host_key_and_that_it_is_ready(boot: FirstBoot) -> None:
    """Host key and settings, as read back, are on the console and in the status file."""
    boot.prepare(TWO)
    assert boot.run(script()) == 0
    for text in (boot.console, boot.text(console.STATUS_FILE)):
        heard = console.parse(text)
        assert heard.ready
        assert heard.host_key == KEY
        assert "BENCHLAB-SET vm.swappiness=0\n" in text
        assert "BENCHLAB-SET transparent_hugepage.enabled=never\n" in text
    assert boot.console.rstrip().endswith("BENCHLAB-READY")


def test_the_limit_of_open_files_is_what_tiup_requires(boot: FirstBoot) -> None:
    """A million for the login user, and for root."""
    boot.prepare()
    assert boot.run(script(user="debian")) == 0
    limits = boot.text("/etc/security/limits.d/90-benchlab.conf")
    assert "debian soft nofile 1000000" in limits
    assert "debian hard nofile 1000000" in limits


def test_packages_are_installed_without_starting_their_servers(boot: FirstBoot) -> None:
    """While dpkg runs, a policy keeps services from starting."""
    boot.prepare()
    assert boot.run(script(packages=("sysbench", "haproxy"))) == 0
    update, install = calls_of(boot, "apt-get")
    assert update.endswith(" update")
    assert install.endswith(" haproxy sysbench")
    assert not (boot.folder / "root/usr/sbin/policy-rc.d").exists()
    assert "policy-rc.d" in script()


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("apt-get", "installing"),
        ("mdadm", "striping"),
        ("mkfs.xfs", "making a file system"),
        ("mount", "mounting"),
        ("chown", "giving"),
        ("sysctl", "kernel settings"),
    ],
)
def test_a_failure_is_reported_with_the_end_of_the_log(
    boot: FirstBoot, command: str, what: str
) -> None:
    """It names what failed; READY is not printed."""
    boot.prepare(TWO, fail=[command])
    assert boot.run(script(packages=["sysbench"])) != 0
    heard = console.parse(boot.console)
    assert what in (heard.failed or "")
    assert not heard.ready
    assert f"{command}: made to fail" in boot.console
    assert heard.host_key == KEY


def test_it_may_run_again(boot: FirstBoot) -> None:
    """A second run formats nothing, mounts nothing twice and succeeds."""
    boot.prepare(TWO)
    assert boot.run(script()) == 0
    before = len(calls_of(boot, "mkfs.xfs") + calls_of(boot, "mdadm") + calls_of(boot, "mount"))
    assert boot.run(script()) == 0
    after = len(calls_of(boot, "mkfs.xfs") + calls_of(boot, "mdadm") + calls_of(boot, "mount"))
    assert (before, after) == (3, 3)
    assert boot.text("/etc/fstab").count("LABEL=benchlab") == 1


@pytest.mark.parametrize("failed", ["mkfs.xfs", "mount"])
def test_a_run_resumes_where_the_last_one_failed(boot: FirstBoot, failed: str) -> None:
    """Disks that Benchlab itself striped count as its own."""
    boot.prepare(TWO, fail=[failed])
    assert boot.run(script()) != 0
    (boot.folder / "state/fail" / failed).unlink()
    assert boot.run(script()) == 0
    assert console.parse(boot.console).ready
    assert len(calls_of(boot, "mdadm")) == 1


def test_a_lifetime_below_a_minute_is_refused() -> None:
    """The host would end itself while it boots."""
    with pytest.raises(TargetError, match="lifetime"):
        script(lifetime=timedelta(seconds=30))
