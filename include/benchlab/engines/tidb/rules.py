"""Which versions of TiDB accept which parameters, so that a wrong report type fails when read.

Without these rules, which are data in ``configs/parameters/tidb.yaml``, a server would refuse its
configuration only an hour later, on a rented fleet.

Example:
    ``faults("v6.5.0", {"tidb_enable_1pc": "ON"}, {})`` is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import pydantic
from pydantic import BaseModel, ConfigDict, Field

from benchlab import home
from benchlab.bounded import read_text
from benchlab.engines.database import written
from benchlab.engines.tidb.topology import COMPONENTS, is_config
from benchlab.errors import SpecError
from benchlab.plan import documents, versions
from benchlab.plan.documents import from_yaml
from benchlab.plan.fields.engines import Components, Parameters, SideSpec

# The oldest version on TiUP's public mirror; earlier ones were deployed with Ansible.
FIRST_OF_TIUP = "v3.0.0"
FIRST_OF_BR = "v4.0.0"
# From this version on a fresh cluster has the new collations, which store text in an index in
# another way; BR refuses a backup with other collations (CheckNewCollationEnable in its
# pkg/task/restore.go; TiDB's release notes of v6.0.0 have the default).
FIRST_OF_NEW_COLLATIONS = "v6.0.0"
NEW_COLLATIONS = "new_collations_enabled_on_first_bootstrap"
# Settings of TiKV that decide how keys are written and where regions are split.
_STORED_BY = ("coprocessor.", "storage.api-version", "storage.enable-ttl")
# Earlier TiKV asks for its host's permissions by IMDSv1 only (tikv#16443, #17437, #11955).
FIRST_OF_IMDSV2 = "v8.4.0"
# TiDB's release notes of v5.2.0: the scheduler's flow control in place of RocksDB's write stalls.
FIRST_OF_FLOW_CONTROL = "v5.2.0"

VersionText = Annotated[str, Field(pattern=r"^v[0-9]+\.[0-9]+\.[0-9]+$")]


class Rule(BaseModel):
    """One rule; comments in the file describe its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    key: str
    component: Literal["tidb", "tikv", "pd", "variable"]
    since: VersionText | None = None
    until: VersionText | None = None
    values: Annotated[tuple[str, ...], Field(strict=False)] | None = None
    vcpu: Annotated[int, Field(ge=1)] | None = None
    sentence: str

    def fault(self, version: str, value: object, storage_vcpu: int | None) -> str | None:
        """Why a version refuses this value, as sentences; None if it does not."""
        known_since = None if self.vcpu else self.since
        what: str | None = None
        if known_since and _before(version, known_since):
            what = f"is known from {known_since} on"
        elif self.until and not self.vcpu and not _before(version, self.until):
            what = f"is gone from {self.until} on"
        elif self.values and written(value).upper() not in self.values:
            what = f"takes {', '.join(self.values)}"
        elif self.vcpu and self._too_many(version, value, storage_vcpu):
            limit = max(self.vcpu, storage_vcpu or 0)
            what = (
                f"may be at most {limit} from {self.since} on where a host has {storage_vcpu} vCPU"
                + (f" (until {self.until})" if self.until else "")
            )
        if what is None:
            return None
        advice = self.sentence[0].upper() + self.sentence[1:]
        return f"{self.name} = {written(value)} with {version}: it {what}. {advice}"

    @property
    def name(self) -> str:
        """The parameter as shown to people: ``tikv: raftstore.sync-log``."""
        return self.key if self.component == "variable" else f"{self.component}: {self.key}"

    def _too_many(self, version: str, value: object, storage_vcpu: int | None) -> bool:
        if storage_vcpu is None or (self.since and _before(version, self.since)):
            return False
        if self.until and not _before(version, self.until):
            return False
        return isinstance(value, int) and value > max(self.vcpu or 0, storage_vcpu)


def faults(
    version: str,
    parameters: Parameters,
    components: Mapping[str, Parameters],
    *,
    storage_vcpu: int | None = None,
) -> list[str]:
    """Why a version would refuse these parameters, as sentences; empty if none is known.

    Each names the parameter, its value, the version, the rule and what to do.

    Args:
        parameters: TiDB's configuration items (a dot or a hyphen in the name) and global
            variables (any other).
        components: configuration items by component.
        storage_vcpu: vCPUs of a TiKV host; None if it is not known.

    Raises:
        SpecError: see :func:`rules`.
    """
    unknown = [
        f"{name}: there is no such component; known: {', '.join(COMPONENTS)}"
        for name in components
        if name not in COMPONENTS
    ]
    written = list(_written_down(parameters, components))
    known = rules() if written else ()
    found = [
        rule.fault(version, value, storage_vcpu)
        for component, key, value in written
        for rule in known
        if (rule.component, rule.key) == (component, key)
    ]
    return unknown + [fault for fault in found if fault]


def not_deployable(version: str) -> str | None:
    """Why TiUP cannot deploy a version, as a sentence; None if it can."""
    if not _before(version, FIRST_OF_TIUP):
        return None
    return (
        f"{version} cannot be deployed: TiUP's mirror begins with {FIRST_OF_TIUP}, and TiUP no "
        "longer takes over what Ansible deployed. Measure a cluster that already runs it, or "
        "import its published report"
    )


def no_br(version: str) -> str | None:
    """Why BR cannot copy a version's dataset, as a sentence; None if it can."""
    if not _before(version, FIRST_OF_BR):
        return None
    return (
        f"there is no BR of {version} to copy its dataset with (the first is {FIRST_OF_BR}); load "
        "the dataset with the benchmark client"
    )


def stored_as(side: SideSpec) -> dict[str, str]:
    """The settings that decide how a side stores rows: sides that agree can share a backup by BR.

    BR needs the same ``tidb_enable_clustered_index`` and the same collations on both ends (TiDB's
    documentation, "Backup & Restore Overview", compatibility).

    Example:
        ``stored_as(SideSpec(version="v6.5.0"))["new_collations"]`` is ``"ON"``.
    """
    set_by = {**side.components.get("tidb", {}), **side.parameters}
    default = not _before(side.version, FIRST_OF_NEW_COLLATIONS)
    clustered = written(set_by.get("tidb_enable_clustered_index", "default")).upper()
    tikv = side.components.get("tikv", {})
    return {
        "clustered_index": {"1": "ON", "0": "OFF"}.get(clustered, clustered),
        "new_collations": written(set_by.get(NEW_COLLATIONS, default)).upper(),
        **{key: written(tikv[key]) for key in sorted(tikv) if key.startswith(_STORED_BY)},
    }


def bound_to_data(items: Components) -> list[str]:
    """Which configuration items cannot change once a cluster has data, as sentences.

    Example:
        ``bound_to_data({"tikv": {"storage.api-version": 2}})`` is
        ``["tikv: storage.api-version: it decides how rows are stored"]``.
    """
    found = [
        f"{component}: {key}: it decides how rows are stored"
        for component in ("tidb", "tikv")
        for key in items.get(component, {})
        if key.startswith((*_STORED_BY, NEW_COLLATIONS))
    ]
    # `PersistOptions.Reload` in PD's server/config/persist_options.go.
    return found + ["pd: PD keeps its configuration with its data"] * ("pd" in items)


def needs_imdsv1(version: str) -> bool:
    """Whether a version's TiKV gets its host's permissions on S3 by IMDSv1 only."""
    return _before(version, FIRST_OF_IMDSV2)


def flows(version: str) -> bool:
    """Whether a version's TiKV has flow control, which delays writes before RocksDB would."""
    return not _before(version, FIRST_OF_FLOW_CONTROL)


def out_of_tmp(version: str, root: Path) -> Parameters:
    """Items with which a TiDB server writes to ``root`` what it would leave in ``/tmp``.

    They also switch off its socket there, which nobody uses. (`pkg/config/config.go` in TiDB.)

    Example:
        ``out_of_tmp("v3.0.0", root)`` is empty: that version writes nothing there.
    """
    items: dict[str, tuple[str, str]] = {
        "tmp-storage-path": ("v4.0.0", str(root / "tmp-storage")),
        "socket": ("v5.3.0", ""),
        "temp-dir": ("v6.3.0", str(root / "tmp")),
    }
    return {key: value for key, (since, value) in items.items() if not _before(version, since)}


def rules() -> tuple[Rule, ...]:
    """The rules of this installation.

    Raises:
        SpecError: the file cannot be read or does not validate.
    """
    return _load(home.find().configs / "parameters" / "tidb.yaml")


@cache
def _load(path: Path) -> tuple[Rule, ...]:
    raw = from_yaml(read_text(path), str(path))
    try:
        return tuple(Rule.model_validate(one) for entry in raw for one in _of_each_key(entry))
    except (TypeError, pydantic.ValidationError) as error:
        why = "; ".join(map(str, documents.faults(error)))
        raise SpecError(f"{path}: not a list of rules: {why}") from error


def _of_each_key(entry: dict[str, object]) -> Iterator[dict[str, object]]:
    """A rule of the file; one with ``keys`` for each of them."""
    if not isinstance(keys := entry.get("keys"), list):
        yield entry
        return
    others = {name: value for name, value in entry.items() if name != "keys"}
    for key in keys:
        yield {**others, "key": key}


def _written_down(
    parameters: Parameters, components: Mapping[str, Parameters]
) -> Iterator[tuple[str, str, object]]:
    for key, value in parameters.items():
        yield ("tidb" if is_config(key) else "variable"), key, value
    for component, items in components.items():
        for key, value in items.items():
            yield component, key, value


def _before(version: str, other: str) -> bool:
    return versions.parse(version).numbers < versions.parse(other).numbers
