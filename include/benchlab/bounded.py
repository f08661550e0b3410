"""Files that a person names, read whole; refused if they are endless, or pipes without a writer."""

from __future__ import annotations

from pathlib import Path

from benchlab.errors import SpecError, meaning_of

# No file that a person wrote, and no output of a client, is larger.
MOST_BYTES = 64 << 20
# The shell's own pipes, `<(...)` and `/dev/stdin`, have a writer.
_OF_THE_SHELL = (Path("/dev"), Path("/proc"))


def read_bytes(path: Path) -> bytes:
    """The content of a file that a person names.

    Example:
        ``read_bytes(Path("sysbench.tar.gz"))``

    Raises:
        SpecError: it cannot be read, is a named pipe, or is larger than 64 MB (``/dev/zero``);
            names the file.
    """
    try:
        if path.is_fifo() and not any(map(path.is_relative_to, _OF_THE_SHELL)):
            raise SpecError(f"{path}: cannot be read: it is a pipe; name a file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {meaning_of(error)}") from error
    if len(content) > MOST_BYTES:
        raise SpecError(f"{path}: cannot be read: it is larger than {MOST_BYTES >> 20} MB")
    return content


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with Unix line breaks.

    Raises:
        SpecError: as :func:`read_bytes`, or it is not UTF-8; names the file.
    """
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: cannot be read: {meaning_of(error)}") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")
