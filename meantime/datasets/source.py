"""Reading the bytes of a log: plain, gzip, xz or zstd, whole or not at all.

A file of more than `MAX_BYTES` unpacked bytes is refused; split it, or convert it to Parquet.
"""

import gzip
import lzma
import os
import re
import zlib
from pathlib import Path
from typing import IO

from meantime.datasets.zstd_size import unpacked_bound
from meantime.errors import InputError

MAX_BYTES = 8 * 1024**3
"""Largest size of a log after unpacking."""

type PathLike = str | os.PathLike[str]

ACCEPTED = "text (sacct output, CSV, JSON lines; plain, .gz, .xz or .zst) or Parquet"

_CHUNK = 16 * 1024**2
_HEAD = 1024**2
_HEAD_LINES = 1000
_MAGIC = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd"}
_BINARY = {
    b"PK\x03\x04": "a zip archive",
    b"\x7fELF": "a program",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF": "a PDF document",
    b"\x89HDF": "an HDF5 or netCDF file",
    b"CDF": "a netCDF file",
    b"SQLite format 3": "an SQLite database",
    b"BZh": "a bzip2 archive",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"ORC": "an ORC file",
    b"ARROW1": "an Arrow file",
}
_CONTENT = re.compile(rb"[^\x00\s]")
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\v\x1b\x1c\x1d\x1e\x1f")


def is_parquet(path: PathLike) -> bool:
    """Tell whether a file begins as Parquet files do."""
    return _first(path, 4) == b"PAR1"


def read_bytes(path: PathLike, *, head: bool = False) -> bytes:
    """Read a text log, unpacking it if its name ends in .gz, .xz or .zst (or it begins as they do).

    Parameters
    ----------
    path
        The file.
    head
        Whether the first lines (about a million bytes) are enough.

    Returns
    -------
    bytes
        The text, without a byte order mark; UTF-16 with such a mark is turned into UTF-8.

    Raises
    ------
    InputError
        If the file is missing, unreadable, empty, binary, damaged, cut short or too large.
    """
    packing = _packing(path, _first(path, 8))
    try:
        if packing == ".zst":
            data = _unpack_zstd(path, head)
        elif packing is None:
            data = _read_plain(path, head)
        else:
            with (gzip.open if packing == ".gz" else lzma.open)(path, "rb") as unpacked:
                data = unpacked.read(_HEAD) if head else _read_bounded(path, unpacked)
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if packing is None:
            why = getattr(error, "strerror", None) or error
            raise InputError(f"{path}: cannot be read: {why}; expected {ACCEPTED}") from error
        raise InputError(f"{path}: is cut short or damaged ({packing}: {error}); copy it again") from error
    if not _CONTENT.search(data):
        raise InputError(f"{path}: is empty; expected {ACCEPTED}")
    return _as_utf8(path, data)


def _first(path: PathLike, length: int) -> bytes:
    with _open(path) as file:
        try:
            return file.read(length)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}; expected {ACCEPTED}") from error


def _open(path: PathLike) -> IO[bytes]:
    try:
        return open(path, "rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; expected {ACCEPTED}") from error


def _packing(path: PathLike, first: bytes) -> str | None:
    packing = next((name for name, magic in _MAGIC.items() if first.startswith(magic)), None)
    suffix = Path(path).suffix.lower()
    if packing is None and suffix in _MAGIC and first:
        raise InputError(f"{path}: is named {suffix} but does not hold {suffix[1:]} data; expected {ACCEPTED}")
    return packing


def _read_plain(path: PathLike, head: bool) -> bytes:
    with _open(path) as file:
        if head:
            return file.read(_HEAD)
        _check_size(path, os.fstat(file.fileno()).st_size)
        return file.read()


def _read_bounded(path: PathLike, file: IO[bytes] | gzip.GzipFile | lzma.LZMAFile) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := file.read(_CHUNK):
        size += len(chunk)
        _check_size(path, size)
        chunks.append(chunk)
    return b"".join(chunks)


def _unpack_zstd(path: PathLike, head: bool) -> bytes:
    # The standard library learns zstd in Python 3.14; polars brings it today, line by line.
    import polars as pl

    _check_size(path, unpacked_bound(Path(path), MAX_BYTES), may=True)
    try:
        scan = pl.scan_lines(Path(path), glob=False)
        lines = (scan.head(_HEAD_LINES) if head else scan).collect()["line"]
    except pl.exceptions.ComputeError as error:
        raise InputError(f"{path}: {error}; unpack it with zstd -d and read the result") from error
    _check_size(path, int(lines.str.len_bytes().sum()) + lines.len())
    return "\n".join(lines).encode()


def _check_size(path: PathLike, size: int, *, may: bool = False) -> None:
    if size > MAX_BYTES:
        verb = "may hold" if may else "holds"
        raise InputError(f"{path}: {verb} more than {MAX_BYTES:,} bytes; split it or convert it to Parquet")


def _as_utf8(path: PathLike, data: bytes) -> bytes:
    for magic, what in _BINARY.items():
        if data.startswith(magic):
            raise InputError(f"{path}: is {what}, not a log; expected {ACCEPTED}")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace").encode()
    if _is_binary(data[:65536]):
        raise InputError(f"{path}: is binary, not a log; expected {ACCEPTED}")
    return data.removeprefix(b"\xef\xbb\xbf")


def _is_binary(sample: bytes) -> bool:
    """Tell bytes from text by NULs from the first line on, or by many other controls and broken UTF-8.

    A text log that a crash filled up with NULs has a clean first line.
    """
    nuls = sample.count(0) if b"\0" in sample.partition(b"\n")[0] else 0
    controls = sum(sample.count(byte) for byte in range(1, 32) if byte not in _TEXT_CONTROLS)
    broken = sample.decode("utf-8", errors="replace").count("\N{REPLACEMENT CHARACTER}")
    return nuls > len(sample) // 10 or min(controls, broken) > len(sample) // 25
