"""A worker that cannot see a campaign's processes neither ends the campaign nor goes on with it.

The other machine is another name and another PID namespace, as in a second container.
"""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchlab import targets
from benchlab.errors import ElsewhereError
from benchlab.home import Home
from benchlab.hosts import place
from benchlab.hosts.access import Access
from benchlab.hosts.executor import TAG, LocalExecutor, end_tagged, tagged
from benchlab.hosts.lock import MachineLock, RemoteLock
from benchlab.targets import local
from tests.builders import plans

NUMBERS = itertools.count()
OTHER = "benchlab-other"
UNSHARE = ["unshare", "--user", "--map-root-user", "--uts", "--pid", "--fork", "--mount-proc"]
HEAD = """
import sys
from pathlib import Path
from benchlab import targets
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.executor import LocalExecutor
from benchlab.hosts.lock import RemoteLock
from benchlab.errors import BenchlabError
root, campaign = Path(sys.argv[1]), sys.argv[2]
here = Home(root, root)
executor = LocalExecutor(here.campaign(campaign), campaign)
try:
    print(eval(sys.argv[3]))
except BenchlabError as error:
    print(type(error).__name__, error)
"""
Elsewhere = Callable[[str], str]


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A campaign's id; every process with its tag is ended afterwards."""
    monkeypatch.setenv("BENCHLAB_LOCK", str(tmp_path / "machine.lock"))
    name = f"place-{os.getpid()}-{next(NUMBERS)}"
    Home(tmp_path, tmp_path).campaign(name).mkdir(parents=True)
    yield name
    end_tagged(f"{TAG}={name}", grace_s=0)


@pytest.fixture
def elsewhere(tmp_path: Path, campaign: str) -> Elsewhere:
    """What an expression gives on another machine that shares the campaign's directory."""
    named = ["sh", "-c", f'hostname {OTHER} && exec "$@"', "sh"]
    if subprocess.run([*UNSHARE, *named, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces here")

    def ask(expression: str) -> str:
        code = [sys.executable, "-c", HEAD, str(tmp_path), campaign, expression]
        env = {**os.environ, "BENCHLAB_LOCK": str(tmp_path / "other.lock")}
        done = subprocess.run(
            [*UNSHARE, *named, *code], capture_output=True, text=True, env=env, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return ask


def test_a_server_elsewhere_is_neither_lost_nor_started_again(
    tmp_path: Path, campaign: str, elsewhere: Elsewhere
) -> None:
    """Both machines are named, and nothing is done; once it has ended, anybody sees that."""
    executor = LocalExecutor(Home(tmp_path, tmp_path).campaign(campaign), campaign)
    executor.start_job("server", ["sleep", "1000"])
    for what in ("job_status('server')", "forget_job('server')", "end_processes()"):
        said = elsewhere(f"executor.{what}")
        assert said.startswith(f"ElsewhereError server of campaign {campaign} runs on ")
        assert socket.gethostname() in said
        assert OTHER in said
    assert elsewhere("executor.start_job('server', ['sleep', '1000'])") == "False"
    assert executor.job_status("server").state == "running"

    end_tagged(f"{TAG}={campaign}", grace_s=0)
    (tmp_path / "campaigns" / campaign / "jobs" / "server" / "exit_code").unlink(missing_ok=True)
    assert elsewhere("executor.job_status('server').state") == "lost"


@pytest.mark.parametrize("runs", [True, False], ids=["with a server", "with the lock alone"])
def test_a_campaign_elsewhere_is_not_said_to_be_given_back(
    tmp_path: Path, campaign: str, elsewhere: Elsewhere, runs: bool
) -> None:
    """Server, password and lock stay until the machine itself gives the campaign back."""
    here, spec = Home(tmp_path, tmp_path), plans.spec()
    target = local.Target(here, campaign, plans.plan(spec), spec, Access())
    target.acquire("a test")
    here.password(campaign)
    if runs:
        target.executor.start_job("server", ["sleep", "1000"])
    said = elsewhere("targets.give_back(here, campaign, Access(), target='local')")
    assert said.startswith("ElsewhereError")
    assert socket.gethostname() in said
    assert OTHER in said
    assert here.known_passwords(campaign)
    assert MachineLock().holder() is not None

    given_back = targets.give_back(here, campaign, Access(), target="local")
    assert given_back.startswith(f"{2 * runs} processes ended")  # with the shell that waits for it
    assert not here.known_passwords(campaign)
    assert MachineLock().holder() is None
    assert not [*tagged(f"{TAG}={campaign}")]
    again = elsewhere("targets.give_back(here, campaign, Access(), target='local')")
    assert again == "0 processes ended"


def test_a_machine_that_is_gone_for_good_is_a_persons_to_tell(
    tmp_path: Path, campaign: str, elsewhere: Elsewhere
) -> None:
    """`benchlab give-back` ends such a campaign; but not one whose server still runs."""
    here, spec = Home(tmp_path, tmp_path), plans.spec()
    target = local.Target(here, campaign, plans.plan(spec), spec, Access())
    target.acquire("a test")
    by_person = "targets.give_back(here, campaign, Access(), target='local', by_person=True)"
    target.executor.start_job("server", ["sleep", "1000"])
    assert elsewhere(by_person).startswith("ElsewhereError")
    end_tagged(f"{TAG}={campaign}", grace_s=0)
    assert elsewhere(by_person) == "0 processes ended"


def test_a_campaign_that_has_taken_another_machine_does_not_go_on(
    tmp_path: Path, campaign: str, elsewhere: Elsewhere
) -> None:
    """Every stage renews the lock, and asks this first."""
    here, spec = Home(tmp_path, tmp_path), plans.spec()
    elsewhere("__import__('benchlab.hosts.place').hosts.place.take(here.campaign(campaign))")
    target = local.Target(here, campaign, plans.plan(spec), spec, Access())
    with pytest.raises(ElsewhereError, match=f"has taken {OTHER}, and this is") as refused:
        target.acquire("a test")
    assert f"benchlab give-back {campaign}" in str(refused.value)
    assert MachineLock().holder() is None

    place.leave(here.campaign(campaign))
    target.acquire("a test")
    assert MachineLock().holder() is not None


def test_workers_of_one_home_share_the_lock_of_a_fleet(
    tmp_path: Path, campaign: str, elsewhere: Elsewhere
) -> None:
    """It is renewed and given back by any of them; another home's campaign of this id is not."""
    path, executor = tmp_path / "fleet.lock", LocalExecutor(tmp_path, campaign)
    shared, another = Path("/shared (01234567)"), Path("/shared (89abcdef)")
    RemoteLock(executor, path, shared).acquire(campaign, "a test")
    lock = f"RemoteLock(executor, root / 'fleet.lock', Path('{shared}'))"
    assert elsewhere(f"{lock}.acquire(campaign, 'a test', 9e4)") == "None"
    assert not RemoteLock(executor, path, another).release(campaign)
    assert elsewhere(f"{lock}.release(campaign)") == "True"
    assert not path.exists()
