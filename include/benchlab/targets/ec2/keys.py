"""A campaign's SSH key pair: made here; EC2 learns its public half only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchlab.errors import TargetError
from benchlab.targets.ec2 import tags
from benchlab.targets.ec2.calls import AwsError, call, tag_filters
from benchlab.targets.ec2.tags import Rental

PRIVATE = "ssh_key"


def private_key(directory: Path) -> str:
    """The text of a campaign's private key, made when there is none; readable by its owner only."""
    path = directory / PRIVATE
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:
        pass  # the first call of the campaign
    import asyncssh

    made = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode("ascii")
    directory.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{PRIVATE}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(made)
    try:
        # Not replaced: of two calls at once, both use the key that was there first.
        os.link(part, path)
    except FileExistsError:
        return path.read_text(encoding="ascii")
    finally:
        part.unlink()
    return made


def public_key(directory: Path) -> str:
    """The public half: ``ssh-ed25519 AAAA...``."""
    import asyncssh

    read = asyncssh.import_private_key(private_key(directory))
    return " ".join(read.export_public_key().decode("ascii").split()[:2])


def ensure(client: Any, rental: Rental) -> str:
    """Have EC2 know the campaign's public key; returns the key pair's name.

    Raises:
        TargetError: EC2 knows another key under this name.
        AwsError: EC2 refuses.
    """
    name = f"benchlab-{rental.campaign}"
    public = public_key(rental.directory)
    try:
        call(
            client,
            "import_key_pair",
            KeyName=name,
            PublicKeyMaterial=public.encode("ascii"),
            TagSpecifications=tags.specifications(rental.tags, "key-pair"),
        )
    except AwsError as error:
        if error.code != "InvalidKeyPair.Duplicate":
            raise
        known = call(client, "describe_key_pairs", KeyNames=[name], IncludePublicKey=True)
        held = str(known["KeyPairs"][0].get("PublicKey", "")).split()[:2]
        if held != public.split():
            raise TargetError(
                f"key pair {name}: EC2 knows another key than {rental.directory / PRIVATE}; "
                "give the campaign back and begin anew"
            ) from error
    return name


def of_campaign(client: Any, campaign: str) -> list[str]:
    """The names of a campaign's key pairs."""
    found = call(client, "describe_key_pairs", Filters=tag_filters(tags.of_campaign(campaign)))
    return [pair["KeyName"] for pair in found["KeyPairs"]]


def delete(client: Any, name: str) -> None:
    """Delete a key pair; one that is not there counts as deleted."""
    try:
        call(client, "delete_key_pair", KeyName=name)
    except AwsError as error:
        if error.code != "InvalidKeyPair.NotFound":
            raise
