"""Compiled samplers on disk: a second fit of the same shapes, in a new process, skips the compiler."""

import hashlib
import os
import platform
import sys
from pathlib import Path

VARIABLE = "MEANTIME_CACHE"
"""Environment variable: a folder, or ``off``."""

LEAST_SECONDS = 0.3
"""Compilations shorter than that are not kept."""

MOST_BYTES = 256 * 2**20
"""Size of the folder; the oldest files go first. A sampler takes half a megabyte."""


def cache_folder() -> Path | None:
    """Return where compiled samplers are kept, or None if they are not.

    ``MEANTIME_CACHE`` names a folder, or is ``off`` (also ``0`` or ``no``). Default: the user's folder for
    caches (``$XDG_CACHE_HOME`` or ``~/.cache``, ``~/Library/Caches`` on macOS, ``%LOCALAPPDATA%`` on Windows).
    Kinds of processors that share a home have folders of their own in it.
    """
    given = os.environ.get(VARIABLE, "").strip()
    if given.lower() in ("off", "0", "no", "false"):
        return None
    if given:
        return Path(given).expanduser() / _machine()
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home
        return None
    if sys.platform == "darwin":
        base = home / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "meantime" / "jax" / _machine()


def use_cache() -> Path | None:
    """Have JAX keep what it compiles, unless told otherwise, or it has a cache of its own already.

    A folder that cannot be made or written is no error: then nothing is kept.

    Returns
    -------
    Path or None
        The folder in use, if it is this one.
    """
    import jax

    folder = cache_folder()
    if folder is None or jax.config.jax_compilation_cache_dir not in (None, str(folder)):
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return None
    if jax.config.jax_compilation_cache_dir is None:
        _prune(folder)
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", LEAST_SECONDS)
    return folder


def _prune(folder: Path) -> None:
    """Delete the oldest files beyond `MOST_BYTES` in all."""
    files = []
    for path in folder.iterdir():
        try:
            found = path.stat()
        except OSError:  # another process was quicker
            continue
        files.append((found.st_mtime, found.st_size, path))
    total = 0
    for _, size, path in sorted(files, reverse=True):
        total += size
        if total > MOST_BYTES:
            try:
                path.unlink()
            except OSError:
                continue


def _machine() -> str:
    """Return a name for this kind of processor: code compiled for another one may not run here."""
    text = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    text += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine() or 'cpu'}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
