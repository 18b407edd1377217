"""The bound on the size of a zstd file, against files of known size and a bomb."""

import struct
from pathlib import Path

import polars as pl
import pytest

from meantime.datasets import source
from meantime.datasets.source import read_bytes
from meantime.datasets.zstd_size import unpacked_bound
from meantime.errors import InputError

MAGIC = 0xFD2FB528


def bomb(path: Path, blocks: int) -> Path:
    """Write a frame of RLE blocks, each 128 KiB of the letter a in 4 bytes."""
    size = 128 * 1024
    blocks_bytes = b"".join(
        struct.pack("<I", (size << 3) | (1 << 1) | (i == blocks - 1))[:3] + b"a" for i in range(blocks)
    )
    path.write_bytes(struct.pack("<I", MAGIC) + bytes([0x00, 0x50]) + blocks_bytes)
    return path


@pytest.mark.parametrize("lines", [1, 500, 200_000])
def test_bound_holds_and_is_near(tmp_path: Path, lines: int) -> None:
    """The bound may exceed the size by less than one block of 128 KiB a frame (the last block is not full)."""
    path = tmp_path / "log.zst"
    frame = pl.DataFrame({"line": [f"{i}|COMPLETED|{i * 7919 % 1000}" for i in range(lines)]})
    frame.write_csv(path, include_header=False, quote_style="never", compression="zstd")
    size = int(frame["line"].str.len_bytes().sum()) + lines
    bound = unpacked_bound(path, 10**12)
    frames = path.read_bytes().count(struct.pack("<I", MAGIC))
    assert size <= bound <= size + 2 * frames * 128 * 1024


def test_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bomb(tmp_path / "log.zst", 100_000)
    assert path.stat().st_size < 500_000
    assert unpacked_bound(path, 10**15) == 100_000 * 128 * 1024
    monkeypatch.setattr(pl, "scan_lines", lambda *_, **__: pytest.fail("unpacked"))
    with pytest.raises(InputError, match=r"log\.zst: may hold more than 8,589,934,592 bytes"):
        read_bytes(path)
    with pytest.raises(InputError, match="may hold more"):
        read_bytes(path, head=True)


def test_bomb_of_allowed_size_is_read(tmp_path: Path) -> None:
    assert read_bytes(bomb(tmp_path / "log.zst", 3)).rstrip(b"\n") == b"a" * (3 * 128 * 1024)


def test_counting_stops_at_the_limit_and_at_a_cut(tmp_path: Path) -> None:
    path = bomb(tmp_path / "log.zst", 1000)
    assert unpacked_bound(path, 10**6) < 2 * 10**6
    path.write_bytes(path.read_bytes()[:50])
    assert unpacked_bound(path, 10**6) <= 12 * 128 * 1024
    assert source.MAX_BYTES == 8 * 1024**3
