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

from meantime.errors import InputError

MAX_BYTES = 8 * 1024**3
"""Largest size of a log after unpacking."""

type PathLike = str | os.PathLike[str]

_CHUNK = 16 * 1024**2
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
ACCEPTED = "text (sacct output, CSV, JSON lines; plain, .gz, .xz or .zst) or Parquet"


def is_parquet(path: PathLike) -> bool:
    """Tell whether a file begins as Parquet files do."""
    with _open(path) as file:
        return file.read(4) == b"PAR1"


def read_bytes(path: PathLike) -> bytes:
    """Read a text log, unpacking it if its name ends in .gz, .xz or .zst (or it begins as they do).

    Returns
    -------
    bytes
        The text, without a byte order mark; UTF-16 with such a mark is turned into UTF-8.

    Raises
    ------
    InputError
        If the file is missing, unreadable, empty, binary, damaged, cut short or too large.
    """
    with _open(path) as file:
        head = file.read(8)
    suffix = Path(path).suffix.lower()
    packing = next((name for name, magic in _MAGIC.items() if head.startswith(magic)), None)
    if packing is None and suffix in _MAGIC and head:
        raise InputError(f"{path}: is named {suffix} but does not hold {suffix[1:]} data; expected {ACCEPTED}")
    data = _unpack(path, packing) if packing else _read_plain(path)
    if not _CONTENT.search(data):
        raise InputError(f"{path}: is empty; expected {ACCEPTED}")
    return _as_utf8(path, data)


def _open(path: PathLike) -> IO[bytes]:
    try:
        return open(path, "rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; expected {ACCEPTED}") from error


def _read_plain(path: PathLike) -> bytes:
    with _open(path) as file:
        _check_size(path, os.fstat(file.fileno()).st_size)
        return file.read()


def _unpack(path: PathLike, packing: str) -> bytes:
    try:
        if packing == ".zst":
            return _unpack_zstd(path)
        opener = gzip.open if packing == ".gz" else lzma.open
        with opener(path, "rb") as file:
            return _read_bounded(path, file)
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{path}: is cut short or damaged ({packing[1:]}: {error}); copy it again") from error


def _read_bounded(path: PathLike, file: IO[bytes] | gzip.GzipFile | lzma.LZMAFile) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := file.read(_CHUNK):
        size += len(chunk)
        _check_size(path, size)
        chunks.append(chunk)
    return b"".join(chunks)


def _unpack_zstd(path: PathLike) -> bytes:
    # The standard library learns zstd in Python 3.14; polars brings it today, line by line.
    import polars as pl

    try:
        lines = pl.scan_lines(Path(path), glob=False).collect()["line"]
    except pl.exceptions.ComputeError as error:
        raise InputError(f"{path}: {error}; unpack it with zstd -d and read the result") from error
    _check_size(path, int(lines.str.len_bytes().sum()) + lines.len())
    return "\n".join(lines).encode()


def _check_size(path: PathLike, size: int) -> None:
    if size > MAX_BYTES:
        raise InputError(f"{path}: holds more than {MAX_BYTES:,} bytes; split it or convert it to Parquet")


def _as_utf8(path: PathLike, data: bytes) -> bytes:
    for magic, what in _BINARY.items():
        if data.startswith(magic):
            raise InputError(f"{path}: is {what}, not a log; expected {ACCEPTED}")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace").encode()
    sample = data[:65536]
    controls = sum(count for byte, count in _byte_counts(sample) if byte < 32 and byte not in _TEXT_CONTROLS)
    if controls > len(sample) // 10:
        raise InputError(f"{path}: is binary, not a log; expected {ACCEPTED}")
    return data.removeprefix(b"\xef\xbb\xbf")


def _byte_counts(sample: bytes) -> list[tuple[int, int]]:
    return [(byte, sample.count(byte)) for byte in range(32)]
