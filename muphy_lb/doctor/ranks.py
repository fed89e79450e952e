"""MPI: the launcher, whether ranks that it starts know each other, and the transports that work among them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from muphy_lb.doctor.finding import BROKEN, MISSING, NOTE, OK, Finding
from muphy_lb.doctor.trial import answer_of

LIMIT_S = 120.0
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


def ranks() -> Iterator[Finding]:
    """The launcher, and what two ranks that it starts can do."""
    launcher = find_launcher()
    remedy = 'pip install "muphy_lb[mpi]", or load the MPI module of the cluster; one rank needs none'
    if launcher is None:
        yield Finding("mpirun", MISSING, f"neither beside {sys.executable} nor on PATH", remedy)
        return
    yield Finding("mpirun", OK, launcher)
    yield from among(answer_of("ranks", LIMIT_S, (*_cleared(), launcher, "-n", "2"), _settings(launcher)))


def among(answer: dict) -> Iterator[Finding]:
    """What a trial among ranks says: the MPI, and each transport."""
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
        return Finding(topic, NOTE, "not tried: it wants a GPU for each rank, and here ranks share one")
    return Finding(topic, NOTE, f"does not work: {reason}", REMEDIES.get(name, ""))


def find_launcher() -> str | None:
    """The launcher of ``run_mpi.sh``: the one named by ``MUPHY_MPIRUN``, the one beside Python, the one on PATH."""
    beside = Path(sys.executable).parent / "mpirun"
    return os.environ.get("MUPHY_MPIRUN") or (str(beside) if beside.exists() else shutil.which("mpirun"))


def _cleared() -> tuple[str, ...]:
    """Words that free a command from the variables of the launcher that started this process, if one did."""
    names = sorted(name for name in os.environ if name.startswith(LAUNCHER_PREFIXES))
    return ("env", *(word for name in names for word in ("-u", name))) if names else ()


def _settings(launcher: str) -> dict[str, str]:
    """What ranks started by a launcher need in their environment."""
    try:
        text = subprocess.run([launcher, "--version"], capture_output=True, text=True, timeout=LIMIT_S).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    if "Open MPI" not in text and "OpenRTE" not in text:
        return {}
    return OPEN_MPI | {"MPI4PY_MPIABI": os.environ.get("MPI4PY_MPIABI", "openmpi")}
