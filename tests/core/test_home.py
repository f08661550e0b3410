"""State lies where it is expected, and a campaign's password is one and private."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from benchlab import home
from benchlab.errors import SpecError
from benchlab.home import Home

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PROJECT", "HOME", "STORE_URL", "STORE_URL_FILE", "OBJECTS"):
        monkeypatch.delenv(f"BENCHLAB_{variable}", raising=False)


def test_state_lies_in_the_checkout_unless_the_environment_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Absolute, whatever the working directory; each part can be put elsewhere."""
    here = home.find()
    assert here == Home(ROOT, ROOT / ".benchlab")
    assert here.configs == ROOT / "configs"
    assert here.store_url == f"sqlite:///{ROOT}/.benchlab/results.db"
    assert str(here.objects) == f"{ROOT}/.benchlab/objects"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHLAB_HOME", "state")
    monkeypatch.setenv("BENCHLAB_STORE_URL", "mysql+pymysql://h/d")
    monkeypatch.setenv("BENCHLAB_OBJECTS", "memory://objects")
    there = home.find()
    assert there.root == tmp_path / "state"
    assert there.campaign("c1") == tmp_path / "state" / "campaigns" / "c1"
    assert there.store_url == "mysql+pymysql://h/d"
    assert str(there.objects).startswith("memory:/")
    monkeypatch.setenv("BENCHLAB_PROJECT", str(tmp_path))
    assert home.find().configs == tmp_path / "configs"


def test_a_changed_secret_is_read_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store's URL is what its file has now; a file that is missing is named."""
    here, file = home.find(), tmp_path / "store_url"
    monkeypatch.setenv("BENCHLAB_STORE_URL_FILE", str(file))
    for password in ("old", "new"):
        file.write_text(f"mysql+pymysql://benchlab:{password}@h/d\n")
        assert here.store_url == f"mysql+pymysql://benchlab:{password}@h/d"
    file.unlink()
    with pytest.raises(SpecError, match=rf"BENCHLAB_STORE_URL_FILE: {file}: cannot be read"):
        _ = here.store_url


def test_a_campaign_keeps_its_password(tmp_path: Path) -> None:
    """Whoever asks again gets the same; another campaign has another."""
    here = Home(tmp_path, tmp_path / "state")
    password = here.password("c1")
    assert here.password("c1") == password
    assert len(password) >= 32
    assert here.password("c2") != password
    before = os.umask(0)
    try:
        here.password("c3")
    finally:
        os.umask(before)
    for path in (here.root / "campaigns").rglob("*"):
        if path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert path.name == "password"


def test_processes_that_ask_at_once_get_one_password(tmp_path: Path) -> None:
    """Both sides are prepared at the same time: neither reads a file that is not written yet."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom benchlab.home import Home\n"
        "here = Home(Path(), Path(sys.argv[1]))\nprint('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "for n in range(200): print(here.password(f'c{n}'))"
    )
    askers = [
        subprocess.Popen(
            [sys.executable, "-c", code, tmp_path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for asker in askers:
        assert asker.stdout is not None
        assert asker.stdout.readline() == "ready\n"
    for asker in askers:
        assert asker.stdin is not None
        asker.stdin.write("\n")
        asker.stdin.flush()
    answers = [asker.communicate()[0].splitlines() for asker in askers]
    assert answers[0] == answers[1] == answers[2]
    assert all(len(password) >= 32 for password in answers[0])
    assert len(set(answers[0])) == 200


def test_every_home_has_a_mark_of_its_own_which_stays(tmp_path: Path) -> None:
    """It is what two installations with one schedule, or in one account, are told apart by."""
    here = Home(tmp_path, tmp_path / "a")
    assert here.mark == Home(tmp_path, tmp_path / "a").mark
    assert here.mark != Home(tmp_path, tmp_path / "b").mark


def test_a_mark_that_a_person_wrote_may_end_with_a_line_break(tmp_path: Path) -> None:
    """As editors and `echo` write it."""
    (tmp_path / "mark").write_text("abcdef12\n")
    assert Home(tmp_path, tmp_path).mark == "abcdef12"


@pytest.mark.parametrize("damaged", ["", "3f2a", "\x00" * 8])
def test_a_damaged_mark_is_no_mark(tmp_path: Path, damaged: str) -> None:
    """With another one, ids would change in the middle of runs; it is said what to do."""
    (tmp_path / "mark").write_text(damaged)
    with pytest.raises(SpecError, match=r"mark is damaged: write eight hexadecimal digits"):
        print(Home(tmp_path, tmp_path).mark)
