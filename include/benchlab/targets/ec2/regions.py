"""The regions in which something may be rented: those of topologies, rental files and the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchlab import targets
from benchlab.errors import SpecError, StoreError
from benchlab.home import Home
from benchlab.plan import topology as topologies
from benchlab.targets.ec2 import rental_file
from benchlab.targets.fleet_files import RENTAL_FILE

if TYPE_CHECKING:
    from benchlab.results.store import Store


@dataclass(frozen=True)
class KnownRegions:
    """Where something may be rented.

    Attributes:
        names: such as ``us-west-2``, sorted.
        skipped: what could not be read and may name further regions; a sentence for each.
    """

    names: tuple[str, ...]
    skipped: tuple[str, ...]


def known_regions(home: Home, open_store: Callable[[Home], Store] | None = None) -> KnownRegions:
    """The regions of all topologies, of what is rented now, and of all campaigns in the store.

    A topology may have been edited since a campaign rented by it.

    Args:
        open_store: opens the results store; None: it is not asked.

    Example:
        ``known_regions(home.find(), open_store).names``
    """
    names: set[str] = set()
    skipped: list[str] = []
    for path in sorted((home.configs / "topologies").glob("*.yaml")):
        try:
            topology = topologies.load(path)
        except SpecError as error:
            skipped.append(f"topology {error}")
            continue
        if (rented := topologies.on_ec2(topology)) is not None:
            names.update(rented.regions)
    for file in sorted(home.campaign("*").parent.glob(f"*/{RENTAL_FILE}")):
        if (kept := rental_file.read(file.parent)) is None:
            skipped.append(
                f"{file}: empty or damaged; `benchlab give-back {file.parent.name}` looks for what "
                "that campaign rented"
            )
        else:
            names.update((kept.region, *kept.regions))
    if open_store is not None:
        try:
            with open_store(home) as store:
                names |= store.regions()
        except StoreError as error:
            skipped.append(f"the campaigns of the results store: {error}")
    return KnownRegions(tuple(sorted(names)), tuple(skipped))


def never_rented(home: Home, open_store: Callable[[Home], Store]) -> bool:
    """Whether the store certainly has no campaign, planned or run, that rents hosts on EC2."""
    on_ec2 = {name for name, target in targets.by_name().items() if target.can.topology == "ec2"}
    try:
        with open_store(home) as store:
            known = {store.target_and_state(name)[0] for name in store.campaign_ids()}
            return not (known & on_ec2 or store.regions())
    except StoreError:  # known_regions names it as well
        return False
