"""The errors that Benchlab raises on purpose.

A message names the field, host or command, says what was found and what to do. An error that is
defined elsewhere is listed with its module.

    BenchlabError
    ├── SpecError            a report type or an override is wrong
    │   ├── NoReleaseError   the calendar has no release that a version rule names, or no pair
    │   ├── AnotherPlanError     a campaign of this id measures something else
    │   └── NothingToMeasureError  the campaign is complete
    ├── UnavailableError     a version or a tool is not available on this machine
    │   └── FetchError       a mirror, an address or S3 does not answer; it may later
    ├── TargetError          the machine is unfit: a busy port, too little disk, a leftover
    │   ├── LockHeldError    another campaign holds the machine
    │   │   └── AtWorkError  another process is at work on this very campaign
    │   ├── UnreachableError a host cannot be reached over SSH
    │   ├── TooMuchOutputError  a command printed more than is read into memory
    │   ├── NotYetError      a server does not answer yet (benchlab.engines.given)
    │   ├── DeniedError      a server refuses the account (benchlab.engines.given)
    │   ├── AwsError         AWS refused a call (benchlab.targets.ec2.calls)
    │   ├── NothingFoundError  EC2 has nothing of a lost campaign (benchlab.targets.ec2.ending)
    │   └── ReaperError      not every expired fleet could be ended (benchlab.targets.ec2.reaper)
    ├── CommandError         a command failed on a host
    │   └── CommandTimeout   it did not end in time
    ├── EngineError          a database server did not do what it should
    ├── StoreError           the results store cannot be read or written
    │   └── AwayError        its server or storage does not answer; it may later
    ├── LanguageError        a language, or one of its sentences, is missing (benchlab.language)
    ├── PageError            the site does not show or do something (benchlab.site.page)
    ├── PublishedPageError   a published page cannot be read
    ├── PublishError         a report could not be published
    │   └── UnsoundReportError  it is a draft: its figures do not follow from its trials
    ├── NotificationError    an event could not be sent (benchlab.report.notifications.notifiers)
    ├── EvidenceError        an evidence bundle cannot be made or read
    │   └── FaultyFileError  one of its files is faulty (benchlab.report.evidence.documents)
    ├── TryFailedError       one try of a trial failed; the next one may succeed
    └── NotMeasuredError     a campaign ended with something not measured
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
from collections.abc import Iterable, Iterator

TAIL_LINES, TAIL_CHARACTERS, LINE_CHARACTERS = 12, 4000, 1000
# Colours and cursor movements of a terminal (ECMA-48, "CSI").
_ESCAPE_CODE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
# What the errors of the operating system mean to a person.
_MEANINGS = {
    errno.ENOENT: "it does not exist",
    errno.EACCES: "this account has no permission for it",
    errno.EPERM: "this account has no permission for it",
    errno.EISDIR: "it is a directory",
    errno.ENOTDIR: "a part of its path is not a directory",
    errno.EEXIST: "something of that name exists already",
    errno.ENOTEMPTY: "it is a directory that is not empty",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "this account's disk quota is used up",
    errno.EROFS: "its file system is read-only",
    errno.EIO: "the disk reports a fault",
    errno.EMFILE: "this process has too many files open",
    errno.ENFILE: "this machine has too many files open",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ELOOP: "it is a link, or its links lead in a circle",
    errno.ENOEXEC: "it is not a program for this machine",
    errno.ETXTBSY: "it is a program that is running",
    errno.ENOMEM: "this machine has too little memory",
    errno.ECONNREFUSED: "nothing listens there",
    errno.ECONNRESET: "the connection was closed by the other end",
    errno.EPIPE: "the connection was closed by the other end",
    errno.ETIMEDOUT: "there was no answer",
    errno.ENETUNREACH: "there is no route to it",
    errno.EHOSTUNREACH: "there is no route to it",
    errno.EADDRINUSE: "another program uses it",
    errno.EADDRNOTAVAIL: "this machine does not have that address",
}
# The same by class, for libraries that raise them without a number.
_BY_CLASS: dict[type[OSError], int] = {
    FileNotFoundError: errno.ENOENT,
    PermissionError: errno.EACCES,
    IsADirectoryError: errno.EISDIR,
    NotADirectoryError: errno.ENOTDIR,
    FileExistsError: errno.EEXIST,
    ConnectionRefusedError: errno.ECONNREFUSED,
    ConnectionResetError: errno.ECONNRESET,
    TimeoutError: errno.ETIMEDOUT,
}


class BenchlabError(Exception):
    """Base of all errors raised on purpose; its text is meant for a person.

    Each argument is one or more lines: ``SpecError(message("fault-twice", ...), "title: missing")``
    has two. A page shows a :class:`benchlab.language.Message` in its reader's language, and text
    unchanged.
    """

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


class SpecError(BenchlabError):
    """A report type, an override or a plan made from them is wrong."""


class NoReleaseError(SpecError):
    """A version rule names no release on a day, or both sides' rules name the same one.

    Args:
        text: a message, or text.
        side: whose rule names no release; None where both sides' rules name the same one.
    """

    def __init__(self, text: object, side: str | None = None) -> None:
        self.side = side
        super().__init__(text)


class AnotherPlanError(SpecError):
    """The stored campaign of this id has another plan than the one asked for.

    Args:
        campaign: its id.
        differing: each difference, the stored value first: ``warmup_seconds 1, not 60``.
    """

    def __init__(self, campaign: str, differing: Iterable[str]) -> None:
        super().__init__(
            f"campaign {campaign} exists already, with another plan: {'; '.join(differing)}; "
            "restore these fields, or start another campaign"
        )


class NothingToMeasureError(SpecError):
    """The campaign is complete, so it is neither measured nor published again.

    Args:
        campaign: its id.
        kept: stored values that stay although others are asked for: ``threshold_pct 2.0, not 5.0``.
    """

    def __init__(self, campaign: str, kept: Iterable[str] = ()) -> None:
        self.campaign = campaign
        keeps = "".join(f"; it keeps {field}" for field in kept)
        super().__init__(
            f"nothing to measure: campaign {campaign} is complete{keeps}. `benchlab publish "
            f"{campaign}` publishes its report again; to measure again, start another campaign"
        )


class UnavailableError(BenchlabError):
    """A version or a tool is not available on this machine."""


class FetchError(UnavailableError):
    """A mirror, an address or S3 does not answer now; trying again later may help."""


class TargetError(BenchlabError):
    """The machine is unfit for the campaign: a busy port, too little disk, a leftover."""


@contextlib.contextmanager
def noting(faults: list[str], where: str = "") -> Iterator[None]:
    """Append an error raised inside to ``faults`` instead of raising it.

    A defect of the program (neither a BenchlabError nor an OSError) is also logged, with its
    traceback.

    Example:
        ``with noting(faults): end(host)`` for each host, then raise if there are ``faults``.

    Args:
        where: prefix of the fault, such as ``us-west-2: ``.
    """
    try:
        yield
    except BenchlabError as error:
        faults.append(f"{where}{error}")
    except OSError as error:
        faults.append(f"{where}{told(error)}")
    except Exception as error:
        logging.getLogger(__name__).exception("%snot foreseen", where)
        faults.append(f"{where}{type(error).__name__}; the log has the rest")


class LockHeldError(TargetError):
    """Another campaign holds the machine, or what this one may cost; the text names it."""


class AtWorkError(LockHeldError):
    """Another process is working on this same campaign, so this one must not end it."""


class ElsewhereError(AtWorkError):
    """The campaign is at work on another machine, or cannot be seen from this one; names both."""


class UnreachableError(TargetError):
    """A host cannot be reached over SSH, or the connection was lost; the text names the host."""


def first_line(command: str) -> str:
    """Shorten a command for a message: of a script only the first line, then ``...``."""
    first, more, _ = command.partition("\n")
    return f"{first} ..." if more else first


class CommandError(BenchlabError):
    """A command failed on a host.

    Example:
        ``CommandError("tikv-1", "tar xf a.tgz", 2)`` says
        "on tikv-1: `tar xf a.tgz` ended with exit code 2".

    Args:
        host: where it ran.
        command: in the shell's syntax; never contains a secret.
        exit_code: None if Benchlab ended the command.
        output: stdout and stderr, kept without escape codes; the last lines go into the message.
        hint: what to do, where that is known.
    """

    def __init__(
        self,
        host: str,
        command: str,
        exit_code: int | None,
        output: str = "",
        hint: str = "",
    ) -> None:
        self.host, self.command, self.exit_code = host, command, exit_code
        self.output = output = _ESCAPE_CODE.sub("", output)
        ended = "was ended" if exit_code is None else f"ended with exit code {exit_code}"
        message = f"on {host}: `{first_line(command)}` {ended}"
        lines = map(_shortened, output.strip().splitlines()[-TAIL_LINES:])
        tail = "\n".join(lines)[-TAIL_CHARACTERS:]
        if tail:
            message += f"; its last output:\n{tail}"
        if hint:
            message += f"\n{hint}"
        super().__init__(message)


def _shortened(line: str) -> str:
    """A line without its middle, if that is long: a client may quote a statement of a megabyte."""
    return line if len(line) <= LINE_CHARACTERS else f"{line[:LINE_CHARACTERS]} ... {line[-200:]}"


class TooMuchOutputError(TargetError):
    """A command printed more than ``most`` bytes, and was ended."""

    def __init__(self, host: str, command: str, most: int) -> None:
        super().__init__(
            f"on {host}: `{first_line(command)}` was ended: it printed more than {most >> 20} MB, "
            "and no answer to it is that long; see what answers there"
        )


class CommandTimeout(CommandError):
    """A command did not end within its time limit of ``timeout_s`` seconds."""

    def __init__(self, host: str, command: str, timeout_s: float, output: str = "") -> None:
        super().__init__(host, command, None, output, hint=f"time limit: {timeout_s:g} s")


class EngineError(BenchlabError):
    """A database server did not start, stop, answer or load as it should."""


class StoreError(BenchlabError):
    """The results store cannot be read or written, or lacks what was asked for."""


class AwayError(StoreError):
    """The store's server or storage does not answer; it may later, and then all is as before."""


class TryFailedError(BenchlabError):
    """One try of a trial could not be executed. It has been counted; the next one may succeed."""


class NotMeasuredError(BenchlabError):
    """A campaign ended, but some of its plan could not be measured."""


class PublishedPageError(BenchlabError):
    """A published page cannot be read; the text names file, line and what was found there."""


class PublishError(BenchlabError):
    """A report did not reach its destination; what was there before is unchanged."""


class UnsoundReportError(PublishError):
    """A report's figures do not follow from its trials, so it is kept as a draft.

    The text names tables, rows and columns, and the draft's folder.
    """


class EvidenceError(BenchlabError):
    """An evidence bundle cannot be made or read; the text names the bundle or the file in it."""


@contextlib.contextmanager
def naming(path: object) -> Iterator[None]:
    """Give an error of the operating system the path that it lacks, as one of a full disk does."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def told(error: OSError) -> str:
    """Describe an error of the operating system: ``a.txt: it does not exist``."""
    return f"{error.filename}: {meaning_of(error)}" if error.filename else meaning_of(error)


def meaning_of(error: BaseException) -> str:
    """Explain an error of the operating system in plain English, without its number.

    Example:
        ``f"{path}: cannot be read: {meaning_of(error)}"`` ends in ``it does not exist``.

    Args:
        error: may also be a UnicodeDecodeError, or a URLError that wraps an OSError; any other
            error is described by its own text.
    """
    inner = getattr(error, "reason", None)  # of urllib's URLError
    if isinstance(inner, OSError):
        return meaning_of(inner)
    if isinstance(error, UnicodeDecodeError):
        return f"it is not a text in UTF-8 (byte {error.start + 1})"
    if not isinstance(error, OSError):
        return str(error)
    by_class = (number for kind, number in _BY_CLASS.items() if isinstance(error, kind))
    number = error.errno if error.errno in _MEANINGS else next(by_class, error.errno)
    if number in _MEANINGS:
        return _MEANINGS[number]
    if number is not None and error.strerror == os.strerror(number):
        return f"the system reports: {error.strerror.lower()}"
    return error.strerror or str(error) or type(error).__name__
