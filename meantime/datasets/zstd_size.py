"""How large a zstd file may become, from the headers of its blocks, without unpacking anything.

A block unpacks to at most 128 KiB (RFC 8878, section 3.1.1.2), so a walk over the block headers bounds the
size. A few kilobytes may stand for terabytes; the bound is known before any of them is made.
"""

import struct
from pathlib import Path
from typing import IO

_FRAME = 0xFD2FB528
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_MAX_BLOCK = 128 * 1024
_ID_BYTES = (0, 1, 2, 4)
_RAW, _RLE = 0, 1


def unpacked_bound(path: Path, limit: int) -> int:
    """Give a number of bytes that the file unpacks to at most; beyond `limit` the count stops.

    A file that is cut short is counted up to its end.
    """
    total = 0
    with path.open("rb") as file:
        while total <= limit and len(magic := file.read(4)) == 4:
            number = int.from_bytes(magic, "little")
            if number in _SKIPPABLE:
                size = file.read(4)
                file.seek(int.from_bytes(size, "little"), 1)
            elif number == _FRAME:
                total += _frame_bound(file, limit - total)
            else:
                break
    return total


def _frame_bound(file: IO[bytes], limit: int) -> int:
    descriptor = file.read(1)
    if not descriptor:
        return 0
    bits = descriptor[0]
    single, checksum = bool(bits & 0x20), bool(bits & 0x04)
    window = None if single else _window(file.read(1))
    file.seek(_ID_BYTES[bits & 3], 1)
    size_bytes = (1 if single else 0, 2, 4, 8)[bits >> 6]
    content = int.from_bytes(file.read(size_bytes), "little") + (256 if size_bytes == 2 else 0)
    block = min(_MAX_BLOCK, content if window is None else window)
    total = 0
    while total <= limit:
        head = file.read(3)
        if len(head) < 3:
            return total
        (value,) = struct.unpack("<I", head + b"\0")
        last, kind, size = value & 1, value >> 1 & 3, value >> 3
        total += size if kind in (_RAW, _RLE) else block
        file.seek(1 if kind == _RLE else size, 1)
        if last:
            file.seek(4 if checksum else 0, 1)
            return total
    return total


def _window(descriptor: bytes) -> int:
    value = descriptor[0] if descriptor else 0
    base = 1 << (10 + (value >> 3))
    return base + base // 8 * (value & 7)
