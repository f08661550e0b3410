"""Promises of the house: locked requirements, one test command, a safe docker-compose file."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tarfile
import threading
import tomllib
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import tests.compose
from benchlab import targets
from benchlab.campaign import overrides, report_types
from benchlab.cli.main import COMMANDS, commands_of
from benchlab.targets.local import TOOLS
from tests import layers
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
LOCKED = ("requirements", "requirements-celery", "requirements-logins", "requirements-dev")
COMPOSE_FILE = tests.compose.FILE


def test_tests_run_in_the_background_as_in_front() -> None:
    """A shell has its background jobs ignore Ctrl-C, and whatever they start ignores it then."""
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "import subprocess, sys, tests.conftest\n"
        "show = 'import signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)'\n"
        "subprocess.run([sys.executable, '-c', show], check=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


# Where docker-compose may differ from `make up`; every other option is the same in both.
ONLY_IN_CONTAINERS = {
    # Paths in the image, and the API server's name on the containers' network.
    "AIRFLOW__CORE__DAGS_FOLDER",
    "AIRFLOW__CORE__PLUGINS_FOLDER",
    "AIRFLOW__CORE__EXECUTION_API_SERVER_URL",
    # Known to `make up` once it has a port.
    "AIRFLOW__API__BASE_URL",
    # Secrets are mounted files; `make up` has them, and its database, in airflow.cfg.
    "AIRFLOW__CORE__FERNET_KEY_CMD",
    "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_CMD",
    "AIRFLOW__API_AUTH__JWT_SECRET_CMD",
    "AIRFLOW__API__SECRET_KEY_CMD",
    # Every address of its container, of which docker publishes one port on loopback.
    "AIRFLOW__API__HOST",
    # Who logs in, and how.
    "AIRFLOW__FAB__CONFIG_FILE",
    "AIRFLOW__FAB__SESSION_MAX_LIFETIME_MINUTES",
    "AIRFLOW__FAB__ENABLE_PROXY_FIX",
    # For workers beside the scheduler.
    "AIRFLOW__CELERY__BROKER_URL_CMD",
    *tests.compose.celery_settings(),
}
ADDRESSES = {"AIRFLOW__CORE__EXECUTION_API_SERVER_URL", "AIRFLOW__API__BASE_URL", "BENCHLAB_URL"}
CAMPAIGNS = ("scheduler", "triggerer", "worker", "worker-local", "worker-release")
NOT_IN_CONTAINERS = {
    "AIRFLOW__API__HOST",
    # An argument of the API server's command.
    "AIRFLOW__API__WORKERS",
}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """docker-compose.yaml without any variable set, with the services of every profile."""
    return tests.compose.compose()


@pytest.fixture(scope="module")
def ours(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The services that run our image."""
    services = compose["services"].items()
    return {name: one for name, one in services if one["image"].startswith("benchlab:")}


# ---------------------------------------------------------------- requirements


@pytest.mark.parametrize("name", LOCKED)
def test_every_requirement_is_pinned_and_hashed(name: str) -> None:
    """Nothing is installed that could be something else tomorrow."""
    text = (ROOT / f"{name}.txt").read_text().replace("\\\n", " ")
    entries = [line for line in text.splitlines() if line and line[0] not in "# "]
    assert entries
    for entry in entries:
        assert re.match(r"[A-Za-z0-9._-]+(\[[a-z,-]+\])?==\S+ ", entry), entry
        assert "--hash=sha256:" in entry, entry


@pytest.mark.parametrize("name", LOCKED)
def test_every_requirement_that_is_asked_for_is_locked(name: str) -> None:
    """requirements*.in and requirements*.txt were not edited apart."""
    wanted = {
        _normal(match[0])
        for line in (ROOT / f"{name}.in").read_text().splitlines()
        if (match := re.match(r"[A-Za-z0-9._-]+", line)) and not line.startswith("-")
    }
    pinned = re.findall(r"^([A-Za-z0-9._-]+)==", (ROOT / f"{name}.txt").read_text(), re.MULTILINE)
    assert wanted <= {_normal(one) for one in pinned}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("more", LOCKED[1:])
def test_shared_requirements_have_one_version(more: str) -> None:
    """The tests, logins and a team's workers run on the same packages as the users."""
    pins = [
        set(re.findall(r"^(\S+==\S+.*?) *\\$", (ROOT / f"{name}.txt").read_text(), re.MULTILINE))
        for name in (LOCKED[0], more)
    ]
    by_name = [{pin.split("==")[0] for pin in side} for side in pins]
    shared = by_name[0] & by_name[1]
    assert shared
    for name in shared:
        versions = [
            {p.split(";")[0].strip() for p in side if p.split("==")[0] == name} for side in pins
        ]
        assert versions[1] <= versions[0]


def test_the_debian_packages_have_what_a_campaign_needs() -> None:
    """What `register` would miss, `make setup` and the image install."""
    essential = {"util-linux"}  # on every Debian and Ubuntu
    lines = (ROOT / "requirements-debian.txt").read_text().splitlines()
    entries = [entry for line in lines if (entry := line.partition("#")[0].strip())]
    installed = {name for one in entries if one[0] != "?" for name in one.split("|")}
    assert set(TOOLS.values()) - essential <= installed


# ---------------------------------------------------------------- commands


def test_ci_runs_the_command_of_the_readme() -> None:
    """CI runs what a newcomer is told to run, and nothing else."""
    commands = [
        line
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if re.match(r"\s*(exec )?make\b", line)
    ]
    assert commands == ["exec make test </dev/null"]
    assert re.search(r"^ *make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("script", [*(ROOT / "bin").iterdir(), ROOT / ".ci" / "run"], ids=str)
def test_scripts_are_executable(script: Path) -> None:
    """A clone can run them."""
    assert script.stat().st_mode & stat.S_IXUSR


def test_make_lists_its_commands() -> None:
    """`make` alone says what there is."""
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("setup", "demo", "up", "down", "test", "check", "format", "lock", "bench"):
        assert re.search(rf"^  make {target} +\S", listed, re.MULTILINE), target


def test_setup_names_what_is_wrong_with_an_old_python(tmp_path: Path) -> None:
    """A machine with Python 3.10 gets a sentence, before anything is installed."""
    old = tmp_path / "python3.10"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.10.12 && exit\nexit 1\n')
    old.chmod(0o755)
    checkout = _checkout(tmp_path)
    done = subprocess.run(
        ["bin/setup", "packages", "requirements"],
        cwd=checkout,
        env={**os.environ, "PYTHON": str(old)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr
    assert "Python 3.10.12" in done.stderr
    assert not (checkout / ".venv").exists()


def test_setup_refuses_an_unknown_step(tmp_path: Path) -> None:
    """A misspelt step is an error, not a silent success."""
    done = subprocess.run(
        ["bin/setup", "package"],
        cwd=_checkout(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert 'no step "package"' in done.stderr


def _checkout(tmp_path: Path) -> Path:
    """A folder with what bin/setup reads, away from the checkout that is in use."""
    checkout = tmp_path / "checkout"
    (checkout / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "bin" / "setup", checkout / "bin" / "setup")
    for path in ROOT.glob("requirements*.txt"):
        shutil.copy(path, checkout)
    return checkout


def test_the_summary_counts_over_all_layers() -> None:
    """CI reads the last line: it must hold every layer's failures, not the last layer's."""
    outcomes = [
        layers.Outcome("core", 1.0, passed=3),
        layers.Outcome("airflow", 2.0, passed=1, failed=1, culprits=["FAILED tests.airflow::t"]),
        layers.Outcome("browser", 3.5, skipped=2),
    ]
    lines = layers.summary(outcomes).splitlines()
    assert lines[-1].strip("= ") == "1 failed, 4 passed, 2 skipped in 6.50s"
    assert "FAILED tests.airflow::t" in lines


# ---------------------------------------------------------------- documents

PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / ".github").rglob("*.md"),
    ROOT / "tests/hosts/README.md",
]


def _anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub makes anchors of them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_documents_lead_somewhere(page: Path) -> None:
    """To a file of the checkout, and to a heading that it has."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        assert linked.exists(), target
        assert not anchor or anchor in _anchors(linked), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_documents_name_commands_that_there_are(page: Path) -> None:
    """Of `make` and of `benchlab`."""
    text = page.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = {name for module in COMMANDS.values() for name in module}
    assert set(re.findall(r"(?:^ {4}|`)make ([a-z-]+)", text, re.MULTILINE)) <= targets
    said = r"(?:^ {4}|`)(?:\.venv/bin/)?benchlab ([a-z][a-z-]+)"
    assert set(re.findall(said, text, re.MULTILINE)) <= commands


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_documents_give_commands_options_that_they_have(page: Path) -> None:
    """In blocks, which people copy; and the fields that `--set` names are a report type's."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"^ {4,7}(?:[a-z-]+: |- run: )?benchlab ([a-z].+)$", text, re.MULTILINE):
        name, *words = shlex.split(line.partition(" >> ")[0], comments=True)
        module = next(module for module, found in COMMANDS.items() if name in found)
        command = commands_of(module)[name]
        if words and (inner := getattr(command, "commands", {}).get(words[0])):
            command, words = inner, words[1:]
        given, _, _ = command.make_parser(command.context_class(command)).parse_args(words)
        path = ROOT / "configs" / "reports" / f"{given.get('report')}.yaml"
        if given.get("overrides") and path.is_file():
            values = overrides.parse_assignments(given["overrides"])
            overrides.override(report_types.load(path), values)


def test_the_page_on_where_to_change_what_names_files_that_there_are() -> None:
    """Below the core, or below the checkout."""
    text = (ROOT / "docs/WHERE.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([\w./-]+/[\w.-]*)`", text):
        assert (ROOT / name).exists() or (ROOT / "include/benchlab" / name).exists(), name


# ---------------------------------------------------------------- the core


def test_the_core_imports_no_airflow() -> None:
    """The library and CLI work where Airflow is not installed."""
    program = (
        "import importlib, pkgutil, sys, benchlab\n"
        "for module in pkgutil.walk_packages(benchlab.__path__, 'benchlab.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
        "print([m for m in sys.modules if m.split('.')[0].startswith('airflow')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_importing_the_core_is_quick() -> None:
    """Heavy packages are imported where they are used: a DAG file imports the core."""
    program = (
        "import sys, benchlab.plan.report_type, benchlab.plan.plan\n"
        "print(sorted({'pandas', 'numpy', 'scipy', 'great_expectations', 'boto3'}"
        " & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


# ---------------------------------------------------------------- docker-compose.yaml


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="there is no docker-compose")
@pytest.mark.parametrize(
    "profiles", [(), ("--profile", "celery", "--profile", "tls")], ids=["default", "every profile"]
)
def test_docker_compose_accepts_the_file(profiles: tuple[str, ...]) -> None:
    """Valid without any variable set and before any secret was made."""
    bare = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    done = subprocess.run(
        ["docker-compose", *profiles, "--file", str(COMPOSE_FILE), "config", "--quiet"],
        env=bare,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_nothing_but_caddy_is_published_beyond_loopback(compose: dict[str, Any]) -> None:
    """Nobody else on the network reaches Airflow without TLS, or a database at all."""
    services = dict(compose["services"])
    caddy = services.pop("caddy")
    assert (caddy["ports"], caddy["profiles"]) == (["443:443"], ["tls"])
    published = [port for one in services.values() for port in one.get("ports", [])]
    assert published == ["127.0.0.1:8080:8080"]
    assert not any(one.get("network_mode") == "host" for one in compose["services"].values())


def test_no_service_can_fill_the_machine(compose: dict[str, Any]) -> None:
    """Each has a limit of CPU and memory, and its log is rotated."""
    for name, service in compose["services"].items():
        assert re.fullmatch(r"\d+[mg]", service["mem_limit"]), name
        # A quota would slow down the servers that are measured: there, none is the default.
        assert (service["cpus"] > 0) == (name not in ("scheduler", "worker-local")), name
        log = service["logging"]
        assert (log["driver"], set(log["options"])) == ("json-file", {"max-size", "max-file"}), name


def test_services_start_again(compose: dict[str, Any]) -> None:
    """Those that exit without their database come back with it; `airflow-init` runs once."""
    for name, service in compose["services"].items():
        assert service["restart"] == ("no" if name == "airflow-init" else "unless-stopped"), name


def test_every_path_that_is_written_is_a_volume_or_in_memory(
    compose: dict[str, Any], ours: dict[str, dict[str, Any]]
) -> None:
    """The root of every container is read-only, also to who breaks into one."""
    dockerfile = (ROOT / "Dockerfile").read_text()
    written = re.findall(r"(?:BENCHLAB|AIRFLOW|TIUP)_HOME=(\S+)", dockerfile)
    assert len(written) == 3
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert "no-new-privileges:true" in service["security_opt"], name
    for name, service in ours.items():
        at = {mount.split(":")[1] for mount in service["volumes"] if not mount.endswith(":ro")}
        at |= {one.split(":")[0] for one in service["tmpfs"]}
        passwords = "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"
        paths = [service["environment"].get(one) for one in ("BENCHLAB_LOCK", passwords)]
        for path in [*written, "/tmp/any", *filter(None, paths)]:
            assert any(path.startswith(f"{one}/") or path == one for one in at), f"{name}: {path}"


def test_all_containers_share_the_lock_of_the_machine(ours: dict[str, dict[str, Any]]) -> None:
    """Two containers do not measure at once; a campaign goes on in a container that is replaced."""
    assert {one["environment"]["BENCHLAB_LOCK"] for one in ours.values()} == {
        "/run/benchlab/benchlab.lock"
    }
    assert all("benchlab-lock:/run/benchlab" in one["volumes"] for one in ours.values())
    # The image creates the folder: a new volume takes over its owner.
    assert " /run/benchlab" in (ROOT / "Dockerfile").read_text()
    # Docker names a container anew each time, and a campaign asks where it began.
    assert all("hostname" in ours[name] for name in ("scheduler", "worker-local"))


def test_a_trial_ends_before_its_container(compose: dict[str, Any]) -> None:
    """What runs tasks has time to finish them, and the API server still takes their results."""
    for name in CAMPAIGNS:
        service = compose["services"][name]
        assert service["depends_on"]["api-server"] == {"condition": "service_healthy"}, name
        assert service["stop_grace_period"] == ("60s" if name == "triggerer" else "30m"), name


def test_only_what_runs_campaigns_can_rent(ours: dict[str, dict[str, Any]]) -> None:
    """The pages' server, which others reach, has no credentials of AWS."""
    for name, service in ours.items():
        has = {"aws_credentials"} & {*service["secrets"]}
        assert bool(has) == (name in CAMPAIGNS), name
        assert ("AWS_SHARED_CREDENTIALS_FILE" in service["environment"]) == bool(has), name


def test_every_service_has_a_health_check(compose: dict[str, Any]) -> None:
    """`docker-compose ps` tells what is broken."""
    for name, service in compose["services"].items():
        assert service.get("healthcheck", {}).get("test"), name


def test_no_code_is_mounted(compose: dict[str, Any]) -> None:
    """An image is a release as a whole; the checkout gives configurations, and what Caddy reads."""
    mounted = {
        mount for one in compose["services"].values() for mount in one.get("volumes", []) if mount
    }
    folders = {mount for mount in mounted if mount.startswith((".", "/"))}
    assert folders == {
        "./configs:/opt/benchlab/configs",
        "./Caddyfile:/etc/caddy/Caddyfile:ro",
        "./certificates:/certificates:ro",
    }
    assert {mount.split(":")[0] for mount in mounted - folders} == {*compose["volumes"]}
    copied = (ROOT / ".dockerignore").read_text().splitlines()
    lines = re.findall(r"^COPY (.+) \./$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert {f"!{name}" for line in lines for name in line.split()} <= {*copied}
    for name in re.findall(r'"(bin/[a-z-]+)"', json.dumps(compose["services"])):
        assert os.access(ROOT / name, os.X_OK), name


def test_the_page_has_the_reports_that_the_scheduler_writes(compose: dict[str, Any]) -> None:
    """Both have Benchlab's home of the image on the same volume, and reports lead to the page."""
    dockerfile = (ROOT / "Dockerfile").read_text()
    (home,) = re.findall(r"BENCHLAB_HOME=(\S+)", dockerfile)
    services = compose["services"]
    homes = [
        [mount for mount in services[name]["volumes"] if mount.split(":")[1:] == [home]]
        for name in ("api-server", "scheduler")
    ]
    assert homes[0] == homes[1] != []
    address = services["scheduler"]["environment"]["AIRFLOW__API__BASE_URL"]
    published = services["api-server"]["ports"][0].rpartition(":")[0]
    assert address == f"http://{published}"
    # One variable says where people find it: Caddy answers there.
    assert COMPOSE_FILE.read_text().count("${BENCHLAB_URL:-") == 2
    assert "\n{$BENCHLAB_URL} {" in (ROOT / "Caddyfile").read_text()


def test_every_variable_is_explained() -> None:
    """Nobody has to read docker-compose.yaml to find what can be set."""
    used = set(re.findall(r"\$\{(BENCHLAB_\w+)", COMPOSE_FILE.read_text()))
    text = "".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    assert not {name for name in used if f"`{name}" not in text}


def test_images_are_pinned(compose: dict[str, Any]) -> None:
    """Every image has a full version, and ours is this version of Benchlab."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    images = {service["image"] for service in compose["services"].values()}
    assert f"benchlab:{version}" in images
    base = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert base
    for image in [*images, *base]:
        assert re.search(r":\d+\.\d+", image), image


def test_no_secret_stands_in_the_compose_file(compose: dict[str, Any]) -> None:
    """Secrets come from files; nothing has a default password."""
    for name, service in compose["services"].items():
        for key, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|KEY|TOKEN|CONN|_URL", key):
                from_file = str(value).removeprefix("cat ").startswith("/run/secrets/")
                plain = key in ADDRESSES
                own_copy = key == "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"
                assert from_file or plain or own_copy, f"{name}: {key}"
            assert not re.search(r"://[^/\s]*:[^/\s]*@", str(value)), f"{name}: {key}"
    assert all(set(secret) == {"file"} for secret in compose["secrets"].values())
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert "secrets/" in ignored
    assert (ROOT / ".dockerignore").read_text().splitlines()[1] == "*"


def test_every_secret_is_mounted_declared_and_made(compose: dict[str, Any], tmp_path: Path) -> None:
    """`bin/make-secrets` makes what the services mount, and what they read they mount."""
    made = _make_secrets(tmp_path)
    declared = {name: Path(one["file"]).name for name, one in compose["secrets"].items()}
    assert set(declared.values()) == {path.name for path in made.iterdir()}
    for name, service in compose["services"].items():
        read = set(re.findall(r"/run/secrets/(\w+)", json.dumps(service)))
        assert read <= set(service.get("secrets", [])), name
        assert set(service.get("secrets", [])) <= set(declared), name


def test_secrets_are_random_private_and_kept(tmp_path: Path) -> None:
    """A second run changes nothing; another machine gets other secrets."""
    folder = _make_secrets(tmp_path / "a")
    before = {path.name: path.read_text() for path in folder.iterdir()}
    assert {
        path.name: path.read_text() for path in _make_secrets(tmp_path / "a").iterdir()
    } == before
    other = {path.name: path.read_text() for path in _make_secrets(tmp_path / "b").iterdir()}
    assert set(before.values()) & set(other.values()) == {""}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert set(json.loads(before["airflow_passwords"])) == {"admin"}
    # These come from AWS and from a login provider; containers do not start without a file.
    assert {name for name, text in before.items() if not text} == {
        "aws_credentials",
        "login_client_secret",
    }


def _make_secrets(checkout: Path) -> Path:
    (checkout / "bin").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "bin" / "make-secrets", checkout / "bin")
    subprocess.run(["bin/make-secrets"], cwd=checkout, check=True, capture_output=True)
    return checkout / "secrets"


def test_the_entry_point_hands_secrets_over(tmp_path: Path) -> None:
    """Airflow's password file is a copy that only its owner reads; no secret is a variable."""
    (tmp_path / "store_url").write_text("mysql+pymysql://benchlab:secret@mysql/benchlab")
    (tmp_path / "passwords").write_text('{"admin": "secret"}')
    copy = tmp_path / "copy" / "airflow_passwords"
    done = subprocess.run(
        [str(ROOT / "bin" / "container"), "env"],
        env={
            "PATH": os.environ["PATH"],
            "BENCHLAB_STORE_URL_FILE": str(tmp_path / "store_url"),
            "BENCHLAB_AIRFLOW_PASSWORDS_FILE": str(tmp_path / "passwords"),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(copy),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert "secret" not in done.stdout.replace(str(tmp_path), "")
    assert f"BENCHLAB_STORE_URL_FILE={tmp_path}/store_url" in done.stdout.splitlines()
    assert json.loads(copy.read_text()) == {"admin": "secret"}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_compose_configures_airflow_as_make_up_does(ours: dict[str, dict[str, Any]]) -> None:
    """The same options with the same values, but for what containers need otherwise."""
    from benchlab_airflow.local.airflow_home import SETTINGS

    settings = {
        f"AIRFLOW__{section.upper()}__{option.upper()}": value
        for section, options in SETTINGS.items()
        for option, value in options.items()
    }
    server = ours["api-server"]
    assert server["command"][-2:] == ["--workers", SETTINGS["api"]["workers"]]
    expected = {key: value for key, value in settings.items() if key not in NOT_IN_CONTAINERS}
    for name, service in ours.items():
        theirs = {
            key: str(value)
            for key, value in service["environment"].items()
            if key.startswith("AIRFLOW__") and key not in ONLY_IN_CONTAINERS
        }
        assert theirs == expected, name
    assert set(server["environment"]) >= ONLY_IN_CONTAINERS
    assert set(settings) >= NOT_IN_CONTAINERS


def test_compose_names_options_that_airflow_has(compose: dict[str, Any], tmp_path: Path) -> None:
    """A misspelt option would be ignored without a word."""
    program = (
        "import json\n"
        "from importlib.util import find_spec\n"
        "from airflow.configuration import conf\n"
        "sections = conf.configuration_description\n"
        "print(json.dumps([name for name in ('celery', 'fab')"
        " if find_spec(f'airflow.providers.{name}') is None]))\n"
        "print(json.dumps({name: list(one['options']) for name, one in sections.items()}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "AIRFLOW_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    lacking, known = map(json.loads, done.stdout.splitlines()[-2:])
    for service in compose["services"].values():
        for key in service.get("environment", {}):
            if key.startswith("AIRFLOW__"):
                _, section, option = key.lower().split("__")
                if section.partition("_")[0] in lacking:
                    continue  # of a provider that only the image has
                assert option.removesuffix("_cmd") in known[section], key


# ---------------------------------------------------------------- workers, TiUP


def _program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("crashes", [False, True], ids=["told to end", "one crashes"])
def test_workers_of_a_container_finish_their_tasks_and_end_together(
    tmp_path: Path, crashes: bool
) -> None:
    """SIGTERM lets each finish. Half a container, which could not give back, starts again whole."""
    _program(
        tmp_path / "bin" / "airflow",
        f"trap 'sleep 0.2; echo finished $4 $6; exit 0' TERM; echo began\n"
        f'[ {int(crashes)} = 0 ] || [ "$4" != release:default ] || exit 3\n'
        "while :; do sleep 0.05; done",
    )
    workers = subprocess.Popen(
        [str(ROOT / "bin/workers"), "local:default:1", "release:default:2"],
        env={"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert workers.stdout is not None
    assert [workers.stdout.readline() for _ in range(2)] == ["began\n"] * 2
    if not crashes:
        workers.terminate()
    ended, _ = workers.communicate(timeout=60)
    finished = ["finished local:default 1", "finished release:default 2"]
    assert sorted(ended.splitlines()) == (finished[:1] if crashes else finished)
    assert workers.returncode == (3 if crashes else 0)


@pytest.fixture
def tiup_mirror(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a mirror with an archive of TiUP, and the archive's hash."""
    served = tmp_path / "mirror"
    _program(served / "tiup", 'echo "$*" >>"$TIUP_HOME/said"')
    for machine in ("amd64", "arm64"):
        with tarfile.open(served / f"tiup-linux-{machine}.tar.gz", "w:gz") as archive:
            archive.add(served / "tiup", "tiup")
    digest = hashlib.sha256(next(served.glob(f"*-{_machine()}.tar.gz")).read_bytes()).hexdigest()
    handler = partial(SimpleHTTPRequestHandler, directory=str(served))
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", digest
        server.shutdown()
        thread.join()


def _machine() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def _fetch_tiup(home: Path, mirror: str, sha256: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"TIUP_HOME": str(home), "TIUP_MIRRORS": mirror, "BENCHLAB_TIUP_SHA256": sha256}
    return subprocess.run(
        [str(ROOT / "bin/fetch-tiup")],
        env={"PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_tiup_is_fetched_once_and_only_if_it_is_the_wanted_one(
    tiup_mirror: tuple[str, str], tmp_path: Path
) -> None:
    """Another archive is refused with its hash, before anything of it is run."""
    mirror, sha256 = tiup_mirror
    home = tmp_path / "tiup"
    other = _fetch_tiup(home, mirror, "0" * 64)
    assert other.returncode == 1
    assert sha256 in other.stderr
    assert not home.exists()

    assert sha256 in _fetch_tiup(home, mirror, sha256).stdout
    assert _fetch_tiup(home, mirror, sha256).stdout == ""
    assert (home / "said").read_text() == f"mirror set {mirror} --silent\n"


def test_services_start_without_tiup(tmp_path: Path) -> None:
    """A mirror that cannot be reached is named, and asked again at the next start."""
    done = _fetch_tiup(tmp_path / "tiup", f"http://127.0.0.1:{free_port()}")
    assert done.returncode == 0
    assert "the release calendar" in done.stdout
    assert not (tmp_path / "tiup").exists()


# ---------------------------------------------------------------- health checks


class _Monitor(BaseHTTPRequestHandler):
    """Answers as Airflow's /api/v2/monitor/health does, with a dead triggerer."""

    def do_GET(self) -> None:
        states = {
            "metadatabase": "healthy",
            "scheduler": "healthy",
            "dag_processor": None,
            "triggerer": "unhealthy",
        }
        body = json.dumps({name: {"status": state} for name, state in states.items()}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is http.server's)
        """Keep quiet."""


@pytest.fixture
def monitor() -> Iterator[str]:
    """The address of a stand-in for the API server."""
    with HTTPServer(("127.0.0.1", 0), _Monitor) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("component", "code"),
    [("api-server", 0), ("scheduler", 0), ("dag-processor", 1), ("triggerer", 1)],
)
def test_health_is_what_airflow_says_of_the_component(
    monitor: str, component: str, code: int
) -> None:
    """A component without a heartbeat is not healthy."""
    command = [sys.executable, str(ROOT / "bin" / "health"), component, monitor]
    assert subprocess.run(command, check=False, capture_output=True).returncode == code


def test_no_answer_is_not_healthy() -> None:
    """The reason is printed, not a traceback: `docker inspect` shows it."""
    command = [sys.executable, str(ROOT / "bin" / "health"), "scheduler", "http://127.0.0.1:9"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "does not answer" in done.stdout
    assert "Traceback" not in done.stderr


def test_no_target_is_named_outside_targets() -> None:
    """What a target can do is asked of its capabilities, so that a new one is one module."""
    names = "|".join(targets.by_name())
    compared = re.compile(rf"\btarget (?:==|!=|in|not in) [(\[{{]?[\"'](?:{names})[\"']")
    found = [
        f"{path}: {line.strip()}"
        for root in ("include/benchlab", "plugins", "dags")
        for path in (ROOT / root).rglob("*.py")
        if "benchlab/targets/" not in path.as_posix()
        for line in path.read_text(encoding="utf-8").splitlines()
        if compared.search(line)
    ]
    assert found == []


def test_what_a_plan_follows_from_is_read_in_one_place() -> None:
    """A plan is made of a `Resolved`, and only the resolver makes one."""
    found = [
        path.name
        for path in (ROOT / "include").rglob("*.py")
        if re.search(r"\bResolved\(\s*\n?\s*\w", path.read_text(encoding="utf-8"))
        and path.name != "resolved.py"
    ]
    assert found == ["resolving.py"]
