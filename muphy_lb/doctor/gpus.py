"""GPUs: what the driver shows, and what the solver can use of it."""

import os
import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from muphy_lb.doctor.finding import BROKEN, MISSING, NOTE, OK, Finding
from muphy_lb.doctor.trial import answer_of

GIB = 2**30
OLDEST_CUDA13_DRIVER, OLDEST_CUDA13_CAPABILITY = 580.0, 7.5
QUERY_LIMIT_S, TRIAL_LIMIT_S = 30.0, 120.0
COLUMNS = "name,memory.total,driver_version,compute_cap"
HIDING = "CUDA_VISIBLE_DEVICES"
REMEDY = 'pip install "muphy_lb[{}]"'


class Gpu(NamedTuple):
    """A GPU as the driver shows it: memory [MiB], compute capability such as 9.0."""

    name: str
    memory_mib: float
    driver: str
    capability: float

    @property
    def extra(self) -> str:
        """The extra whose CUDA this driver and this GPU can use."""
        is_new = _leading(self.driver) >= OLDEST_CUDA13_DRIVER and self.capability >= OLDEST_CUDA13_CAPABILITY
        return "gpu" if is_new else "cuda12"


def gpus() -> Iterator[Finding]:
    """The driver and its GPUs, the packages that compile for them, and a kernel on the first of them."""
    found, problem = _shown_by_driver()
    if not found:
        yield Finding("GPU", NOTE, f"{problem}; the CPU is used", "for an NVIDIA GPU: its driver, 525 or newer")
        return
    for number, gpu in enumerate(found):
        text = f"{gpu.name}, {gpu.memory_mib / 1024:.0f} GiB, compute capability {gpu.capability}"
        yield Finding(f"GPU {number}", OK, text)
    yield Finding("driver", OK, found[0].driver)
    yield from _cuda(found)


def _cuda(found: list[Gpu]) -> Iterator[Finding]:
    """Whether the solver can use the GPUs."""
    remedy = REMEDY.format("cuda12" if any(gpu.extra == "cuda12" for gpu in found) else "gpu")
    try:
        there = f"numba-cuda {version('numba-cuda')}, cuda-bindings {version('cuda-bindings')}"
    except PackageNotFoundError as error:
        yield Finding("CUDA", MISSING, f"{error.name} is not installed: the GPUs cannot be used", remedy)
        return
    answer = answer_of("gpu", TRIAL_LIMIT_S)
    if "failure" in answer:
        yield Finding("CUDA", BROKEN, f"{there}: {answer['failure']}", remedy)
    elif answer["n"] == 0 and HIDING in os.environ:
        text = f"{there}: no GPU can be used, as {HIDING} is {os.environ[HIDING]!r}"
        yield Finding("CUDA", BROKEN, text, f"unset {HIDING}, or name GPUs in it")
    elif answer["n"] == 0:
        yield Finding("CUDA", BROKEN, f"{there}: no GPU can be used", remedy)
    else:
        text = f"{there}: a kernel ran; {answer['n']} usable, {answer['free_bytes'] / GIB:.1f} GiB free on the first"
        yield Finding("CUDA", OK, text)


def _shown_by_driver() -> tuple[list[Gpu], str]:
    """The GPUs that nvidia-smi lists, and why there are none."""
    command = ["nvidia-smi", f"--query-gpu={COLUMNS}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=QUERY_LIMIT_S)
    except OSError:
        return [], "no nvidia-smi, so no driver"
    except subprocess.TimeoutExpired:
        return [], f"nvidia-smi does not answer within {QUERY_LIMIT_S:g} s"
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines()]
    found = [Gpu(row[0], _leading(row[1]), row[2], _leading(row[3])) for row in rows if len(row) == 4]
    return (found, "") if done.returncode == 0 and found else ([], "nvidia-smi shows no GPU")


def _leading(text: str) -> float:
    """The number that a text begins with, such as 580.159 of a driver 580.159.03; 0 where there is none."""
    parts = text.split(".")
    try:
        return float(".".join(parts[:2]))
    except ValueError:
        return 0.0
