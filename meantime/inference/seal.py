"""A digest at the end of a file: any damage is seen before the bytes are given to a parser.

HDF5 does not look behind its own end, so that a sealed netCDF file reads as before. A damaged one must not
reach libhdf5 at all: one flipped bit can make it loop without end, and others change numbers unseen.
"""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

from meantime.errors import InputError

_MARK = b"\nmeantime-sha256:"
_LENGTH = len(_MARK) + 64 + 1
_PART = 1 << 20


def seal(path: Path) -> None:
    """Append the SHA-256 of a file to it."""
    with path.open("r+b") as file:
        digest = _digest(file, file.seek(0, os.SEEK_END))
        file.write(_MARK + digest + b"\n")


def check_seal(path: Path) -> None:
    """Refuse a file that is not, byte for byte, what was sealed.

    Raises
    ------
    InputError
        If the seal is missing or does not fit.
    OSError
        If the file cannot be read.
    """
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END) - _LENGTH
        file.seek(max(end, 0))
        stored = file.read(_LENGTH)
        if end < 0 or not stored.startswith(_MARK):
            raise InputError(
                "no fit of meantime, or cut short: the checksum at its end is missing; expected a file written by "
                "save_fit or `meantime fit`"
            )
        if stored != _MARK + _digest(file, end) + b"\n":
            raise InputError("is damaged: its bytes are not those that were written (checksum); fit again")


def _digest(file: BinaryIO, length: int) -> bytes:
    """Hash the first bytes of a file; it is left behind them."""
    check = hashlib.sha256()
    file.seek(0)
    while length and (part := file.read(min(_PART, length))):
        check.update(part)
        length -= len(part)
    return check.hexdigest().encode()
