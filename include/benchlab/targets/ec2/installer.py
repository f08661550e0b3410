"""Checks the script that installs TiUP on a rented client's host, and notes the one seen last.

The script is downloaded and run on the host. Its hash tells whether it is the known one. For TiUP
itself, which the script downloads, no hash is known beforehand.
"""

from __future__ import annotations

import hashlib
import json
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from http.client import HTTPException

from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.plan.topology import Ec2Topology
from benchlab.results.records import HASH_OF, SCRIPT, SCRIPT_BEFORE
from benchlab.targets import fleet_files
from benchlab.targets.ec2.preflight import Finding

ANSWER_LIMIT_S = 10.0
# TiUP's script has 5 kB.
SCRIPT_BYTES = 1 << 20
FILE = "tiup_installers.json"


@dataclass(frozen=True)
class Seen:
    """An install script as it was seen: its SHA-256, and the day."""

    sha256: str
    day: str


def last_seen(home: Home, address: str) -> Seen | None:
    """The script of an address as this machine, or a host that it rented, saw it last."""
    return _read(home).get(address)


def see(home: Home, address: str, sha256: str) -> Seen | None:
    """Note the hash of an address's script; returns the one seen before if it was different."""
    known = _read(home)
    before = known.get(address)
    known[address] = Seen(sha256, datetime.now(UTC).date().isoformat())
    home.root.mkdir(parents=True, exist_ok=True)
    text = json.dumps({name: asdict(one) for name, one in known.items()}, indent=1)
    fleet_files.write(home.root / FILE, text)
    return None if before is None or before.sha256 == sha256 else before


def check(topology: Ec2Topology, sha256: str) -> None:
    """Refuse a script that the topology does not want.

    Raises:
        TargetError: names both hashes.
    """
    if topology.tiup_sha256 not in (None, sha256):
        raise TargetError(
            f"tiup_sha256: {topology.tiup} has the sha256 {sha256}, and the topology wants "
            f"{topology.tiup_sha256}: it is not run. Read what has changed in it, then write the "
            "new hash"
        )


def changed(address: str, before: Seen) -> str:
    """What to say of a script that is not the one seen last."""
    return f"{address} has changed: on {before.day} its sha256 was {before.sha256}"


def facts(address: str, sha256: str, before: Seen | None) -> dict[str, str]:
    """What a campaign's environment says about the script that was run."""
    earlier = {} if before is None else {SCRIPT_BEFORE: f"{before.day} {before.sha256}"}
    return {SCRIPT: address, HASH_OF.format(SCRIPT): sha256} | earlier


def planned(home: Home, topology: Ec2Topology) -> str:
    """What a plan says about how TiUP gets onto the client's host."""
    if topology.tiup == "image":
        return "as the image has it"
    known = last_seen(home, topology.tiup)
    if topology.tiup_sha256 is not None:
        which = f"whose sha256 has to be {topology.tiup_sha256}"
    elif known is not None:
        which = (
            f"whose sha256 was {known.sha256} on {known.day}; if it has changed, the new one is "
            "run anyway, and the report says so"
        )
    else:
        which = "which this machine has not seen yet: `benchlab doctor --aws` shows its sha256"
    return (
        f"installed by the script {topology.tiup}, {which}. The hash covers the script alone, not "
        "TiUP's program, which the script downloads"
    )


def look(home: Home, topology: Ec2Topology) -> Finding:
    """How TiUP gets onto the client's host, and whether the script exists and is the known one.

    The first script that is seen is noted; a changed one only when it is run.
    """
    address = topology.tiup
    if address == "image":
        return Finding("tiup", True, "the image has it, says the topology; only its host can show")
    try:
        # Some servers refuse what Python calls itself.
        asked = urllib.request.Request(address, headers={"User-Agent": "benchlab"})
        with urllib.request.urlopen(asked, timeout=ANSWER_LIMIT_S) as answer:
            script = answer.read(SCRIPT_BYTES + 1)
    except urllib.error.HTTPError as error:
        return Finding("tiup", False, f"{address} answers {error.code}; is the address right?")
    except (OSError, ValueError, HTTPException):
        why = (
            f"{address} does not answer this machine, so its sha256 is not known; the hosts may "
            "reach it anyway"
        )
        return Finding("tiup", None, why)
    if not script.startswith(b"#!") or len(script) > SCRIPT_BYTES:
        return Finding("tiup", False, f"{address} is not a script; is the address right?")
    sha256 = hashlib.sha256(script).hexdigest()
    try:
        check(topology, sha256)
        before = last_seen(home, address) or see(home, address, sha256)
    except TargetError as error:
        return Finding("tiup", False, str(error))
    detail = f"{address} is a script, sha256 {sha256}"
    if before is not None and before.sha256 != sha256:
        return Finding("tiup", None, f"{detail}; {changed(address, before)}")
    return Finding("tiup", True, detail)


def _read(home: Home) -> dict[str, Seen]:
    try:
        raw = json.loads((home.root / FILE).read_text(encoding="utf-8"))
        return {address: Seen(one["sha256"], one["day"]) for address, one in raw.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, AttributeError, TypeError) as error:
        raise TargetError(
            f"{home.root / FILE}: the install scripts that were seen cannot be read; remove the "
            "file, and the next one counts as the first"
        ) from error
