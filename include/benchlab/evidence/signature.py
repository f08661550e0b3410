"""Signatures of a bundle's manifest, made and checked by OpenSSH's ``ssh-keygen -Y``.

The format is that of OpenSSH's PROTOCOL.sshsig, in its armor, in the namespace below; who may sign
is listed in a file of allowed signers, as ssh-keygen(1) describes it. The manifest has the SHA-256
of every other file, so that its signature is one of the whole bundle.
"""

from __future__ import annotations

import base64
import contextlib
import os
import struct
import subprocess
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchlab.errors import EvidenceError

NAMESPACE = "benchlab-evidence"
VARIABLE = "BENCHLAB_SIGNING_KEY"
LIMIT_S = 60.0

_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----\n", "-----END SSH SIGNATURE-----\n"
_LINE = 70
# Before the public key within the armor (PROTOCOL.sshsig): a magic, and the version of the format.
_MAGIC, _VERSION = b"SSHSIG", 1
# Keys that sign the same text by the same bytes: Ed25519 by its design (RFC 8032), RSA as OpenSSH
# uses it (RSASSA-PKCS1-v1_5, RFC 8017). ECDSA draws a number each time; a key on a token counts.
_DETERMINISTIC = frozenset(
    name for kind in ("ssh-ed25519", "ssh-rsa") for name in (kind, f"{kind}-cert-v01@openssh.com")
)
# Nobody is there to be asked for a passphrase: a key that has one is in the agent, or cannot sign.
_UNASKED = {"SSH_ASKPASS": "/bin/false", "SSH_ASKPASS_REQUIRE": "force"}


@dataclass(frozen=True)
class Checked:
    """What is known of a signature.

    Attributes:
        sentence: for people.
        fault: what is wrong with it; None where nothing is.
        unchecked: why it could not be checked, or not wholly; None where it was.
    """

    sentence: str
    fault: str | None = None
    unchecked: str | None = None


def key_of_environment() -> Path | None:
    """The key to sign with, as ``BENCHLAB_SIGNING_KEY`` names it; None: nothing is signed."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else None


def sign(manifest: bytes, key: Path) -> bytes:
    """The signature of a manifest. The same manifest and key give the same bytes.

    Args:
        key: a private key without a passphrase, or a public one whose private key is in the agent.

    Raises:
        EvidenceError: it cannot be signed with this key, and says what ssh-keygen said; or the key
            is of a type that signs otherwise each time.
    """
    done = _ssh_keygen("sign", "-f", str(key), stdin=manifest)
    if done.returncode != 0 or not done.stdout.startswith(_BEGIN.encode()):
        raise EvidenceError(
            f"{VARIABLE}: {key}: ssh-keygen cannot sign with it: {_said(done)}\n"
            "Give a private key of OpenSSH that has no passphrase, or the public key of one that "
            "ssh-agent holds; without the variable a bundle is not signed"
        )
    if (kind := key_type(done.stdout)) not in _DETERMINISTIC:
        raise EvidenceError(
            f"{VARIABLE}: {key}: a key of type {kind} signs otherwise each time, and every "
            "publishing would be a new edition\nGive an Ed25519 or RSA key "
            "(`ssh-keygen -t ed25519`)"
        )
    return done.stdout


def key_type(signature: bytes) -> str:
    """The type of the key that made a signature, as OpenSSH names it: ``ssh-ed25519``.

    Read from the public key within the signature, so that it is the key that was used, be it a
    file's or the agent's.

    Raises:
        EvidenceError: it is no signature as OpenSSH writes it.
    """
    try:
        armored = signature.decode("ascii").removeprefix(_BEGIN).removesuffix(_END)
        inner = base64.b64decode("".join(armored.split("\n")), validate=True)
        magic, version, _, length = struct.unpack_from(f">{len(_MAGIC)}sIII", inner)
        start = struct.calcsize(f">{len(_MAGIC)}sIII")
        if (magic, version) != (_MAGIC, _VERSION):
            raise ValueError(f"it begins with {magic!r}, version {version}")
        return inner[start : start + length].decode("ascii")
    except (ValueError, struct.error) as error:
        raise EvidenceError(f"no signature in the format of OpenSSH: {error}") from error


def check(manifest: bytes, signature: bytes | None, signers: Path | None) -> Checked:
    """Check a manifest's signature.

    Args:
        signature: the text of the signature's file; None: there is none.
        signers: a file of allowed signers; None: any key is taken, and who has it is not known.

    Raises:
        EvidenceError: there are signers to be checked against, and they cannot be read, or there
            is no ssh-keygen.
    """
    if signers is not None and not signers.is_file():
        raise EvidenceError(f"{signers}: there is no such file of allowed signers")
    if signature is None:
        fault = "it is not signed, and was to be by one of the signers" if signers else None
        return Checked("not signed", fault)
    if not _is_canonical(signature):
        return Checked("signed", "no signature in the armor that OpenSSH writes")
    try:
        if signers is None:
            return _check_alone(manifest, signature)
        return _check_signer(manifest, signature, signers)
    except _NoSshKeygenError as error:
        if signers is not None:
            raise
        return Checked("signed", unchecked=f"the signature: {error}")


def _check_alone(manifest: bytes, signature: bytes) -> Checked:
    """Whether it is a signature of this manifest, by whatever key."""
    with _file(signature) as path:
        done = _ssh_keygen("check-novalidate", "-s", path, stdin=manifest)
    if done.returncode != 0:
        return Checked("signed", f"not a signature of this manifest: {_said(done)}")
    return Checked(
        f"signed with a key that was not looked up ({_said(done)})",
        unchecked="who signed it: give the file of allowed signers",
    )


def _check_signer(manifest: bytes, signature: bytes, signers: Path) -> Checked:
    with _file(signature) as path:
        found = _ssh_keygen("find-principals", "-f", str(signers), "-s", path)
        names = found.stdout.decode("utf-8", "replace").split("\n")
        if found.returncode != 0 or not names[0]:
            return Checked("signed", f"signed by nobody in {signers}: {_said(found)}")
        done = _ssh_keygen(
            *("verify", "-f", str(signers), "-I", names[0], "-s", path), stdin=manifest
        )
    if done.returncode != 0:
        return Checked("signed", f"not a signature of this manifest by {names[0]}: {_said(done)}")
    return Checked(f"signed by {names[0]}")


class _NoSshKeygenError(EvidenceError):
    """ssh-keygen is not on this machine, or does not answer."""


def _ssh_keygen(
    action: str, *arguments: str, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    command = ["ssh-keygen", "-Y", action, "-n", NAMESPACE, *arguments]
    try:
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
            env={**os.environ, **_UNASKED},
            start_new_session=True,  # no terminal on which to ask
        )
    except FileNotFoundError as error:
        raise _NoSshKeygenError(
            "ssh-keygen is not on this machine; install OpenSSH's client (Debian: openssh-client)"
        ) from error
    except (OSError, subprocess.SubprocessError) as error:
        raise _NoSshKeygenError(f"`ssh-keygen -Y {action}` did not run: {error}") from error


@contextlib.contextmanager
def _file(signature: bytes) -> Iterator[str]:
    """The signature as a file, which is the only way that ssh-keygen reads one."""
    with tempfile.NamedTemporaryFile(prefix="benchlab-", suffix=".sig") as file:
        file.write(signature)
        file.flush()
        yield file.name


def _is_canonical(signature: bytes) -> bool:
    """Whether it is the armor as it was written: readers let much pass that is not."""
    text = signature.decode("ascii", "replace")
    if not text.startswith(_BEGIN) or not text.endswith(_END):
        return False
    try:
        inner = base64.b64decode("".join(text[len(_BEGIN) : -len(_END)].split("\n")), validate=True)
    except ValueError:
        return False
    lines = textwrap.wrap(base64.b64encode(inner).decode(), _LINE)
    return text == _BEGIN + "".join(f"{line}\n" for line in lines) + _END


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    text = (done.stderr + b" " + done.stdout).decode("utf-8", "replace")
    return " ".join(text.split())[:300] or f"exit code {done.returncode}"
