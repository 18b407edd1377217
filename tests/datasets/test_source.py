"""Bytes of a log: packings, damage, and files that are no log."""

import gzip
import lzma
from pathlib import Path

import polars as pl
import pytest

from meantime.datasets import source
from meantime.datasets.source import read_bytes
from meantime.errors import InputError

TEXT = b"JobID|State|Start|End\n" + b"1|COMPLETED|2024-01-01T00:00:00|2024-01-01T01:00:00\n" * 500


def pack(path: Path) -> bytes:
    """Pack TEXT as the name of the file says, and return the bytes."""
    if path.suffix == ".gz":
        return gzip.compress(TEXT)
    if path.suffix == ".xz":
        return lzma.compress(TEXT)
    frame = pl.DataFrame({"line": TEXT.decode().splitlines()})
    frame.write_csv(path, include_header=False, quote_style="never", compression="zstd")
    return path.read_bytes()


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_packed_text_is_the_text(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log.txt{suffix}"
    path.write_bytes(pack(path))
    assert read_bytes(path).rstrip(b"\n") == TEXT.rstrip(b"\n")
    assert TEXT.startswith(read_bytes(path, head=True)[:100])


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("part", [0.3, 0.95])
def test_packed_text_cut_short_is_refused(tmp_path: Path, suffix: str, part: float) -> None:
    path = tmp_path / f"log.txt{suffix}"
    data = pack(path)
    path.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(InputError, match=r"log\.txt.*cut short or damaged"):
        read_bytes(path)


def test_name_and_content_must_agree(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(TEXT)
    with pytest.raises(InputError, match="does not hold gz data"):
        read_bytes(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n  \n", "is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "PNG image"),
        (b"\x89HDF\r\n" + bytes(100), "HDF5"),
        (bytes(range(256)) * 10, "is binary"),
    ],
)
def test_what_is_no_log_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"file: .*{said}.*expected text"):
        read_bytes(path)


def test_text_filled_up_with_nuls_is_still_text(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(TEXT[:100] + bytes(4096) + TEXT[100:200])
    assert read_bytes(path).count(0) == 4096


def test_missing_file_and_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.txt: cannot be read"):
        read_bytes(tmp_path / "gone.txt")
    with pytest.raises(InputError, match="cannot be read"):
        read_bytes(tmp_path)


def test_byte_order_marks_are_taken_off(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT)
    assert read_bytes(path) == TEXT
    path.write_bytes(TEXT.decode().encode("utf-16"))
    assert read_bytes(path) == TEXT


def test_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_BYTES", 1000)
    for name in ("log.txt", "log.gz", "log.zst"):
        path = tmp_path / name
        path.write_bytes(TEXT if name == "log.txt" else pack(path))
        with pytest.raises(InputError, match="more than 1,000 bytes"):
            read_bytes(path)
