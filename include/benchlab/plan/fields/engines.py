"""What is compared: the sides of each engine, with versions, builds and parameters."""

from __future__ import annotations

from typing import Annotated, Any, Self

import pydantic
from pydantic import AfterValidator, Field

from benchlab.errors import SpecError
from benchlab.plan import versions
from benchlab.plan.documents import ONE_VALUE, Frozen, Name, Scalar, one_of
from benchlab.plan.fields import builds
from benchlab.plan.fields.builds import Build

ParameterName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$")]


Value = Annotated[
    Scalar,
    one_of(
        f"{ONE_VALUE}; a list cannot be set, and a nested item is written with dots "
        "(`replication.max-replicas: 3`)"
    ),
]
Parameters = dict[ParameterName, Value]
Components = dict[Name, Parameters]


def _version(text: str) -> str:
    """A version, for a validator; pydantic adds the field to the message.

    Raises:
        ValueError: it is not a version.
    """
    try:
        return versions.parse(text).text
    except SpecError as error:
        raise ValueError(str(error).removeprefix("version: ")) from error


def _numbers(version: str) -> tuple[int, int, int]:
    return versions.parse(version).numbers


class SideSpec(Frozen):
    """One side: a version plus the parameters that only this side has.

    Attributes:
        version: a version, or a version rule that names one as of a day; see
            :mod:`benchlab.plan.versions`.
        parameters: of the SQL server: configuration items and global variables.
        components: configuration items of a cluster's other components, by component.
        builds: what is deployed in place of the version's own binaries, by component.
    """

    version: Annotated[
        str, AfterValidator(lambda text: text if versions.is_rule(text) else _version(text))
    ]
    parameters: Parameters = Field(default={})
    components: Components = Field(default={})
    builds: dict[Name, Build] = Field(default={})

    @pydantic.model_serializer(mode="wrap")
    def _chosen(self, dump: pydantic.SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out ``builds`` where there are none."""
        written: dict[str, Any] = dump(self)
        if not self.builds:
            written.pop("builds", None)
        return written

    @property
    def is_resolved(self) -> bool:
        """Whether its version is a version, not a version rule."""
        return not versions.is_rule(self.version)

    @property
    def label(self) -> str:
        """Its version for people, with what tells its builds apart: ``v8.5.7@5c91a2b``."""
        return builds.label(self.version, self.builds)


class VersionParameters(Frozen):
    """Parameters for sides whose version lies in a range.

    Attributes:
        since, until: the first version that gets them, and the first that no longer does; None: the
            range is open at that end.
    """

    since: Annotated[str, AfterValidator(_version)] | None = None
    until: Annotated[str, AfterValidator(_version)] | None = None
    parameters: Parameters = Field(default={})
    components: Components = Field(default={})

    @pydantic.model_validator(mode="after")
    def _is_range(self) -> Self:
        if self.since is None and self.until is None:
            raise ValueError(
                "neither `since` nor `until` is set; what holds for every version goes under "
                "`parameters` and `components` of the engine"
            )
        if self.since and self.until and _numbers(self.since) >= _numbers(self.until):
            raise ValueError(f"no version lies between since {self.since} and until {self.until}")
        return self

    def holds_for(self, version: str) -> bool:
        """Whether a version lies in the range."""
        numbers = _numbers(version)
        return (self.since is None or numbers >= _numbers(self.since)) and (
            self.until is None or numbers < _numbers(self.until)
        )


class EngineSpec(Frozen):
    """What is compared where this engine is deployed.

    Attributes:
        candidate: None where only one version is measured (``sides: single``).
        parameters, components: for both sides; a side's own override them.
        by_version: for sides whose version lies in a range; they override those for both sides.
        by_workload: configuration items of components, on both sides, while one workload is
            measured; they override all others.
    """

    baseline: SideSpec
    candidate: SideSpec | None = None
    parameters: Parameters = Field(default={})
    components: Components = Field(default={})
    by_version: Annotated[tuple[VersionParameters, ...], Field(strict=False)] = ()
    by_workload: dict[Name, Components] = Field(default={})

    @pydantic.model_validator(mode="after")
    def _rules_fit(self) -> Self:
        if self.candidate is not None and self.candidate.version in versions.RELATIVE:
            raise ValueError(
                f"candidate.version: {self.candidate.version!r} is relative to the candidate, so "
                "only the baseline can have it"
            )
        return self

    def merged_into(self, side: SideSpec, *, by_version: bool = True) -> SideSpec:
        """One side with the common parameters, and those for its range of versions, merged in."""
        ranges = [
            written
            for written in self.by_version
            if by_version and side.is_resolved and written.holds_for(side.version)
        ]
        layers: list[EngineSpec | VersionParameters | SideSpec] = [self, *ranges, side]
        names = dict.fromkeys(name for layer in layers for name in layer.components)
        return SideSpec(
            version=side.version,
            parameters={key: value for layer in layers for key, value in layer.parameters.items()},
            components={
                name: {
                    key: value
                    for layer in layers
                    for key, value in layer.components.get(name, {}).items()
                }
                for name in names
            },
            builds=side.builds,
        )
