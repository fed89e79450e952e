"""Processors, memory, and the folders in which compiled kernels are kept."""

import os
import platform
from collections.abc import Iterator
from pathlib import Path

from muphy_lb.doctor.finding import BROKEN, NOTE, OK, Finding
from muphy_lb.doctor.trial import answer_of

GIB, MIB = 2**30, 2**20
LITTLE_MEMORY = GIB
COMPILE_LIMIT_S = 60.0


def processors() -> Iterator[Finding]:
    """The system, its cores and memory, and whether Numba compiles for them."""
    from muphy_lb.geometry.limits import free_bytes

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads = os.environ.get("NUMBA_NUM_THREADS")
    chosen = f", NUMBA_NUM_THREADS={threads}" if threads else ""
    yield Finding("machine", OK, f"{platform.platform()}, {cores} core{'' if cores == 1 else 's'}{chosen}")
    free = free_bytes()
    text = f"{free / GIB:.1f} GiB free"
    remedy = "" if free > LITTLE_MEMORY else "end other programs; a node takes some 160 bytes, 90 with streaming = 'aa'"
    yield Finding("memory", OK if free > LITTLE_MEMORY else NOTE, text, remedy)
    answer = answer_of("cpu", COMPILE_LIMIT_S)
    if "failure" in answer:
        remedy = 'pip install --force-reinstall "numba" "llvmlite"'
        yield Finding("CPU compiler", BROKEN, answer["failure"], remedy, is_needed=True)
    else:
        yield Finding("CPU compiler", OK, f"Numba compiles for {answer['processor']}", is_needed=True)


def caches() -> Iterator[Finding]:
    """The folders that make a second start quick: where they are, and what they take."""
    users = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    kernels = Path(os.environ.get("NUMBA_CACHE_DIR") or users)
    tuning = Path(os.environ.get("MUPHY_CACHE") or users / "muphy_lb")
    remedy = "name a folder that can be written in {}; without it every start compiles anew"
    yield _cache("compiled kernels", kernels / "muphy_lb-kernels", remedy.format("NUMBA_CACHE_DIR"))
    remedy = "name a folder that can be written in {}; without it every start on a GPU times its kernels anew"
    yield _cache("tuned launches", tuning, remedy.format("MUPHY_CACHE"))


def _cache(topic: str, folder: Path, remedy: str) -> Finding:
    """A folder that is made when it is needed."""
    nearest = next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
    if not folder.is_absolute() or not os.access(nearest, os.W_OK | os.X_OK):
        return Finding(topic, NOTE, f"{folder} cannot be written", remedy)
    n_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Finding(topic, OK, f"{folder}, {n_bytes / MIB:.1f} MiB")
