"""An installation of a test's own, and the command line in it."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml

from benchlab.cli import main
from benchlab.engines.mariadb import EMPTY
from benchlab.home import Home
from tests.builders import plans

ROOT = Path(__file__).parents[2]
GOOD = plans.spec(report="good").model_dump(mode="json", exclude={"schedule"})


PROGRAM = Path(sys.executable).with_name("benchlab")


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


class Here:
    """An installation of its own: the house's configuration, an empty state."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.home = Home(path, path / "state")
        shutil.copytree(ROOT / "configs", path / "configs")
        for version in ("10.2.11", "10.11.5"):  # as far as planning looks
            program = self.home.servers / "mariadb" / version / "bin" / "mariadbd"
            program.parent.mkdir(parents=True)
            program.write_text("")
            (program.parents[1] / EMPTY).mkdir()
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("BENCHLAB_")},
            "BENCHLAB_PROJECT": str(path),
            "BENCHLAB_HOME": str(path / "state"),
            "BENCHLAB_LOCK": str(path / "lock"),
            "TIUP_HOME": str(path / "nothing"),
            "COLUMNS": "120",
        }

    def run(self, *arguments: object, **environment: str) -> Done:
        """`benchlab ARGUMENTS`, in this process: a new one would import everything again."""
        out, err = io.StringIO(), io.StringIO()
        with (
            mock.patch.dict(os.environ, {**self.environment, **environment}, clear=True),
            mock.patch.object(sys, "argv", ["benchlab", *map(str, arguments)]),
            contextlib.chdir(self.path),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as ended,
        ):
            main.main()
        return Done(int(ended.value.code or 0), out.getvalue(), err.getvalue())

    def program(self, *arguments: object, **environment: str) -> Done:
        """`benchlab ARGUMENTS` as a user types it."""
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            env={**self.environment, **environment},
            cwd=self.path,
            capture_output=True,
            text=True,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def refused(self, *arguments: object, **environment: str) -> str:
        """What is said on stderr by a command that fails with one message and nothing else."""
        done = self.run(*arguments, **environment)
        assert done.returncode == 1, done.stdout + done.stderr
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr
        return done.stderr

    def report(self, name: str = "good", **fields: Any) -> Path:
        """A report type beside the house's own."""
        path = self.path / f"{name}.yaml"
        raw = {**GOOD, "report": name, **fields}
        path.write_text(yaml.safe_dump({k: v for k, v in raw.items() if v is not ...}))
        return path
