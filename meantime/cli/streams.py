"""Standard output and error: closed pipes, full disks and terminals that know no more than ASCII."""

import codecs
import os
import signal
import sys
from io import TextIOWrapper

_FALLBACK = "meantime-fallback"
_PLAIN = str.maketrans({"–": "-", "−": "-", "\u00a0": " ", "“": '"', "”": '"', "’": "'", "…": "...", "×": "x"})


def prepare_streams() -> None:
    """Let a closed pipe end the program quietly, and write what an encoding lacks in plainer characters."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    codecs.register_error(_FALLBACK, _plainer)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_FALLBACK)


def drop_output() -> None:
    """Give up standard output, so that what it still holds makes no second error when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _plainer(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    plain = error.object[error.start : error.end].translate(_PLAIN)
    return plain.encode("ascii", "backslashreplace").decode(), error.end
