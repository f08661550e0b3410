"""A host on which TiKV would not start, or no restore would work, is refused before deploying."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from benchlab.engines.tidb import fitness
from benchlab.errors import CommandError
from benchlab.hosts.executor import Completed
from benchlab.plan.fields.engines import Parameters, SideSpec
from tests.builders import fakes


class Host(fakes.FakeExecutor):
    """A host whose services can open so many files; ``writable``: whether its caches are."""

    def __init__(self, files: str, writable: bool = True) -> None:
        super().__init__(lambda command, stdin: files if "ulimit" in " ".join(command) else "")
        self.writable = writable

    def run(self, command: Sequence[str], *, check: bool = True, **options: Any) -> Completed:
        """See :class:`benchlab.hosts.executor.Executor`."""
        done = super().run(command, check=check, **options)
        refused = "test" in command and not self.writable
        if check and refused:
            raise CommandError(self.host, command[0], 1)
        return Completed(int(refused), done.stdout, "")


def side(version: str = "v8.5.3", items: Parameters | None = None) -> SideSpec:
    """A side with configuration items of TiKV."""
    return SideSpec(version=version, components={"tikv": items or {}})


@pytest.mark.parametrize(
    ("of", "needed"),
    [
        (side("v6.5.0"), 82_920),
        (side("v7.6.0"), 123_880),
        (side(), 123_880),
        (side("v9.0.0-beta.2.pre-nightly"), 123_880),
        (side(items={"rocksdb.titan.enabled": False}), 82_920),
        (side(items={"rocksdb.titan.enabled": "false"}), 82_920),
        (side("v6.5.0", items={"rocksdb.titan.enabled": True}), 123_880),
        (side("v6.5.0", items={"rocksdb.titan.enabled": "true"}), 123_880),
        (side("v6.5.0", items={"rocksdb.max-open-files": "4096"}), 46_056),
        (side(items={"rocksdb.max-open-files": 4000, "raftdb.max-open-files": 1000}), 10_000),
    ],
)
def test_tikv_needs_as_many_open_files_as_its_version_and_its_items_say(
    of: SideSpec, needed: int
) -> None:
    """The figures with which TiKV itself refuses to start."""
    assert fitness.open_files(of) == needed


def test_a_host_that_lets_tikv_open_too_few_files_is_refused_with_both_figures() -> None:
    """As a container of 20,000 does; whichever side needs most decides."""
    sides = [side("v6.5.0"), side("v8.5.3")]
    found = fitness.fault(Host("20000\n"), "admin", sides, restores=True)
    assert found is not None
    assert "can open 20,000 files" in found
    assert "123,880" in found
    lowered = [side(items={"rocksdb.max-open-files": 4000, "raftdb.max-open-files": 4000})]
    assert fitness.fault(Host("20000\n"), "admin", lowered, restores=True) is None
    assert fitness.fault(Host("20000\n"), "admin", [], restores=True) is None
    assert fitness.fault(Host("unlimited\n"), "admin", sides, restores=True) is None


def test_caches_that_cannot_be_emptied_are_found_before_the_load() -> None:
    """Only where something will be restored."""
    host = Host("1000000\n", writable=False)
    found = fitness.fault(host, "admin", [side()], restores=True)
    assert found is not None
    assert found.startswith("/proc/sys/vm/drop_caches cannot be written")
    assert "`restore: never`" in found
    assert fitness.fault(host, "admin", [side()], restores=False) is None
