"""Writing files so that a reader never sees half of one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meantime.errors import InputError


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `target`, moved onto it when the block ends without error.

    Parameters
    ----------
    target
        The file to write. Its folder must exist.

    Raises
    ------
    InputError
        If `target` is a folder, or its folder does not exist or cannot be written.
    """
    target = Path(target)
    if target.is_dir():
        raise InputError(f"{target}: is a folder; expected the name of a file")
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {error.strerror}; choose a folder that exists") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(target: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `target` as UTF-8, whole or not at all."""
    with atomic_path(target) as path:
        path.write_text(text, encoding="utf-8")
