"""The findings of the doctor: Python and packages, processors and folders, GPUs, MPI and its transports. Versions come
from the metadata that ``pip`` keeps, so nothing needs to be importable; for a folder that is used without an
installation, from its ``setup.cfg``."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from configparser import RawConfigParser
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import NamedTuple

from muphy_lb.base.version import __version__
from muphy_lb.doctor.trial import answer_of

OK, MISSING, BROKEN, NOTE = "ok", "missing", "broken", "note"
"""There and working; not there; there, but not working; neither good nor bad."""

OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 13)
PACKAGE = "muphy_lb"
PURPOSES = {
    "mpi": "an MPI from PyPI, for several ranks on one machine",
    "nccl": "messages between GPUs, also of several machines",
    "dicom": "geometries from DICOM folders",
    "view": "watching a run in a browser",
    "notebook": "fields as xarray and PyVista, Jupyter",
}
"""Purposes of the extras; that of GPUs is judged beside the GPUs."""

GIB, MIB = 2**30, 2**20
LITTLE_MEMORY = GIB
COMPILE_LIMIT_S = 60.0
OLDEST_CUDA13_DRIVER, OLDEST_CUDA13_CAPABILITY = 580.0, 7.5
QUERY_LIMIT_S, LIMIT_S = 30.0, 120.0
COLUMNS = "name,memory.total,driver_version,compute_cap"
HIDING = "CUDA_VISIBLE_DEVICES"
REMEDY = 'pip install "muphy_lb[{}]"'
LAUNCHER_PREFIXES = ("PMI", "OMPI_COMM_", "MV2_COMM_", "HYDI_", "MPI_LOCAL")
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""Without these Open MPI refuses root, and more ranks than cores."""

REMEDIES = {
    "nccl": 'pip install "muphy_lb[nccl]" ("muphy_lb[nccl12]" beside CUDA 12)',
    "cuda-aware": "only an MPI built with CUDA; none is needed",
    "peer": "needs GPUs of one machine that reach each other's memory (nvidia-smi topo -p2p r)",
}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    topic: str  #: what it is, such as ``"mpirun"``
    state: str  #: ``"ok"``, ``"missing"``, ``"broken"`` or ``"note"``
    text: str  #: what was found
    remedy: str = ""  #: what to do about it; empty where nothing needs to be done
    is_needed: bool = False  #: whether the solver cannot run without it

    @property
    def is_fatal(self) -> bool:
        """Whether the solver cannot run because of it."""
        return self.is_needed and self.state in (MISSING, BROKEN)

    def line(self, width: int) -> str:
        """The finding as one line of text, its topic in a column of some width."""
        remedy = f" -> {self.remedy}" if self.remedy else ""
        return f"{self.state:<8}{self.topic:<{width}}  {self.text}{remedy}"


def python() -> Iterator[Finding]:
    """The interpreter, and the installation of this package."""
    found = f"{platform.python_version()} ({sys.executable})"
    if OLDEST_PYTHON <= sys.version_info[:2] <= NEWEST_PYTHON:
        yield Finding("Python", OK, found, is_needed=True)
    else:
        allowed = " to ".join(f"{major}.{minor}" for major, minor in (OLDEST_PYTHON, NEWEST_PYTHON))
        yield Finding("Python", BROKEN, f"{found} is not {allowed}", f"use Python {allowed}", is_needed=True)
    installed = _version(PACKAGE)
    if installed is None:
        text = f"{__version__}, used from a folder: pip has not installed it"
        yield Finding(PACKAGE, NOTE, text, "pip install that folder")
    elif installed != __version__:
        text = f"{__version__} is used, but pip has installed {installed}"
        yield Finding(PACKAGE, NOTE, text, "pip install the folder that is used, or leave it out of PYTHONPATH")
    else:
        yield Finding(PACKAGE, OK, installed)


def packages() -> Iterator[Finding]:
    """Every package that the solver needs, and for each extra those that it brings."""
    try:
        needs = _requirements()
    except ModuleNotFoundError:  # what reads requirements is not installed: versions are not looked at
        names = dict.fromkeys(re.split(r"[^\w-]", line)[0] for line in _lines() if "extra ==" not in line)
        for name in (name for name in names if _version(name) is None):
            yield Finding(name, MISSING, "not installed", f'pip install "{name}"', is_needed=True)
        return
    for requirement in needs.get("", ()):
        yield _judged(requirement)
    for extra, purpose in PURPOSES.items():
        if extra in needs:
            yield _extra(extra, purpose, needs[extra])


def _requirements() -> dict[str, list]:
    """The requirements of this package on this Python, by extra; those that are always needed under ``""``.
    ModuleNotFoundError without the package that reads requirements."""
    from packaging.requirements import Requirement

    found: dict[str, list] = {}
    for requirement in map(Requirement, _lines()):
        for extra in ("", *PURPOSES):
            marker = requirement.marker
            is_always = marker is None or marker.evaluate({"extra": ""})
            if is_always if extra == "" else marker and not is_always and marker.evaluate({"extra": extra}):
                found.setdefault(extra, []).append(requirement)
    return found


def _lines() -> list[str]:
    """The requirements as text, each with the extra that it belongs to; of a folder that is used without an
    installation those of its ``setup.cfg``, if it has one."""
    with suppress(PackageNotFoundError):
        return requires(PACKAGE) or []
    source = RawConfigParser()
    source.read(Path(__file__).parents[2] / "setup.cfg", encoding="utf-8")
    lines = source.get("options", "install_requires", fallback="").splitlines()
    extras = source["options.extras_require"].items() if source.has_section("options.extras_require") else ()
    lines += [f'{line}; extra == "{extra}"' for extra, text in extras for line in text.splitlines() if line]
    return [line for line in lines if line]


def _judged(requirement) -> Finding:
    name, there = requirement.name, _version(requirement.name)
    command = f'pip install "{name}{requirement.specifier}"'
    if there is None:
        return Finding(name, MISSING, "not installed", command, is_needed=True)
    if requirement.specifier.contains(there, prereleases=True):
        return Finding(name, OK, there, is_needed=True)
    text = f"{there} is not {requirement.specifier}, the versions that were tested"
    return Finding(name, NOTE, text, command)


def _extra(extra: str, purpose: str, requirements: list) -> Finding:
    there = {requirement.name: _version(requirement.name) for requirement in requirements}
    missing = [name for name, found in there.items() if found is None]
    topic, command = f"extra {extra}", f'pip install "{PACKAGE}[{extra}]"'
    if missing and extra == "mpi" and (launcher := find_launcher()):
        return Finding(topic, NOTE, f"{', '.join(missing)} not installed, nor needed beside {launcher}")
    if missing and extra == "nccl" and not shutil.which("nvidia-smi"):
        return Finding(topic, NOTE, f"{', '.join(missing)} not installed, nor needed without GPUs")
    if missing:
        return Finding(topic, MISSING, f"{', '.join(missing)} not installed: {purpose}", command)
    return Finding(topic, OK, ", ".join(f"{name} {found}" for name, found in there.items()))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def processors() -> Iterator[Finding]:
    """The system, its cores and memory, and whether Numba compiles for them."""
    from muphy_lb.geometry.limits import free_bytes

    cores = len(os.sched_getaffinity(0))
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
    remedy = "name a folder that can be written in {}; without it every start compiles again"
    yield _cache("compiled kernels", kernels / "muphy_lb-kernels", remedy.format("NUMBA_CACHE_DIR"))
    remedy = "name a folder that can be written in {}; without it every start on a GPU times its kernels again"
    yield _cache("tuned launches", tuning, remedy.format("MUPHY_CACHE"))


def _cache(topic: str, folder: Path, remedy: str) -> Finding:
    """A folder that is made when it is needed."""
    nearest = next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
    if not folder.is_absolute() or not os.access(nearest, os.W_OK | os.X_OK):
        return Finding(topic, NOTE, f"{folder} cannot be written", remedy)
    n_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Finding(topic, OK, f"{folder}, {n_bytes / MIB:.1f} MiB")


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
    remedy = REMEDY.format("cuda12" if any(gpu.extra == "cuda12" for gpu in found) else "gpu")
    try:
        there = f"numba-cuda {version('numba-cuda')}, cuda-bindings {version('cuda-bindings')}"
    except PackageNotFoundError as error:
        yield Finding("CUDA", MISSING, f"{error.name} is not installed: the GPUs cannot be used", remedy)
        return
    answer = answer_of("gpu", LIMIT_S)
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


def ranks() -> Iterator[Finding]:
    """The launcher, and what two ranks that it starts can do."""
    launcher = find_launcher()
    remedy = 'pip install "muphy_lb[mpi]", or load the MPI module of the cluster; a single rank needs none'
    if launcher is None:
        yield Finding("mpirun", MISSING, f"neither beside {sys.executable} nor on PATH", remedy)
        return
    yield Finding("mpirun", OK, launcher)
    names = sorted(name for name in os.environ if name.startswith(LAUNCHER_PREFIXES))  # another launcher's
    cleared = ("env", *(word for name in names for word in ("-u", name))) if names else ()
    yield from among(answer_of("ranks", LIMIT_S, (*cleared, launcher, "-n", "2"), _settings(launcher)))


def among(answer: dict) -> Iterator[Finding]:
    """The findings of a trial among ranks: the MPI, and each transport."""
    if "failure" in answer:
        remedy = "take mpirun and mpi4py from one MPI: MUPHY_MPIRUN names the launcher, MPI4PY_LIBMPI the library"
        yield Finding("MPI", BROKEN, answer["failure"], remedy)
        return
    aware = "CUDA-aware" if answer["is_cuda_aware"] else "not CUDA-aware, which is not needed"
    machines = "" if answer["machines"] == 1 else f" on {answer['machines']} machines"
    library = " ".join(answer["library"].split())
    yield Finding("MPI", OK, f"{library}, {answer['ranks']} ranks{machines}; {aware}")
    for name, reason in answer["transports"].items():
        yield _transport(name, reason, answer)


def _transport(name: str, reason: str, answer: dict) -> Finding:
    topic = f"transport {name}"
    if not reason:
        return Finding(topic, OK, "a trial message arrived")
    if answer["device"] != "cuda":
        return Finding(topic, NOTE, "moves the memory of GPUs; there is none here")
    if name == "nccl" and answer["share_gpus"] and not reason.startswith("ModuleNotFoundError"):
        return Finding(topic, NOTE, "not tried: it needs a GPU for each rank, and here ranks share one")
    return Finding(topic, NOTE, f"does not work: {reason}", REMEDIES.get(name, ""))


def find_launcher() -> str | None:
    """The launcher of ``run_mpi.sh``: the one named by ``MUPHY_MPIRUN``, the one beside Python, the one on PATH."""
    beside = Path(sys.executable).parent / "mpirun"
    return os.environ.get("MUPHY_MPIRUN") or (str(beside) if beside.exists() else shutil.which("mpirun"))


def _settings(launcher: str) -> dict[str, str]:
    try:
        text = subprocess.run([launcher, "--version"], capture_output=True, text=True, timeout=LIMIT_S).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    if "Open MPI" not in text and "OpenRTE" not in text:
        return {}
    return OPEN_MPI | {"MPI4PY_MPIABI": os.environ.get("MPI4PY_MPIABI", "openmpi")}
