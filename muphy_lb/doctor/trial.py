"""Trials in processes of their own: a driver or an MPI that does not fit may end or block the process that asks.
``python -m muphy_lb.doctor cpu|gpu|ranks`` prints the answer of one as a line of JSON."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from types import MappingProxyType

from muphy_lb.base.processes import python, variables

MARK = "muphy_lb trial: "
LAST_WORDS = 200


def answer_of(name: str, limit_s: float, launcher=(), environment=None) -> dict:
    """The answer of a trial; ``{"failure": why}`` where it gives none.

    Args:
        name: ``"cpu"``, ``"gpu"`` or ``"ranks"``.
        limit_s: time [s] after which it is ended.
        launcher: words that go before those of Python, such as ``("mpirun", "-n", "2")``.
        environment: variables that are added to those of this process.
    """
    command = [*launcher, *python("muphy_lb.doctor", name)]
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            command,
            stdout=pipe,
            stderr=pipe,
            text=True,
            env=variables(os.environ) | (environment or {}),
            start_new_session=True,
        )
    except OSError as error:
        return {"failure": f"{command[0]} cannot be started: {error.strerror}"}
    with process:
        try:
            out, err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return {"failure": f"no answer within {limit_s:g} s"}
        finally:
            if process.returncode is None:  # also after Ctrl-C, which does not reach a session of its own
                os.killpg(process.pid, signal.SIGKILL)
    found = [line.partition(MARK)[2] for line in out.splitlines() if MARK in line]
    if found:
        return json.loads(found[-1])
    lines = [line.strip() for line in (err or out).splitlines() if line.strip()]
    return {"failure": lines[-1][:LAST_WORDS] if lines else f"it ended with code {process.returncode}"}


def tried(name: str) -> dict | None:
    """The answer of a trial in this process; ``{"failure": why}`` where it fails."""
    try:
        return TRIALS[name]()
    except Exception as error:  # whatever does not fit here is the answer
        return {"failure": f"{type(error).__name__}: {(str(error).splitlines() or ['no reason told'])[0]}"}


def try_cpu() -> dict:
    """Compile a function with Numba and call it."""
    import llvmlite.binding
    import numba

    @numba.njit
    def twice(x):
        return x + x

    if twice(21) != 42:
        return {"failure": "a compiled function gave a wrong number"}
    return {"processor": llvmlite.binding.get_host_cpu_name()}


def try_gpu() -> dict:
    """Count the GPUs that numba-cuda can use; compile a kernel and run it on the first."""
    import numpy as np

    from muphy_lb.backends.cuda.device import cuda, memory_free, n_devices, select_device

    n = n_devices()
    if n == 0:
        return {"n": 0}
    select_device(0)

    @cuda.jit
    def double(values):
        values[cuda.threadIdx.x] *= 2

    values = cuda.to_device(np.arange(4.0))
    double[1, 4](values)
    if values.copy_to_host().tolist() != [0.0, 2.0, 4.0, 6.0]:
        return {"failure": "a compiled kernel gave wrong numbers"}
    return {"n": n, "free_bytes": memory_free()[0]}


def try_ranks(communicator=None) -> dict | None:
    """Send trial messages among ranks by every transport; collective. The answer on rank 0, None on the others."""
    from muphy_lb.backends import count_gpus, make_backend
    from muphy_lb.base.precision import PRECISIONS
    from muphy_lb.lattice import lattice_named
    from muphy_lb.parallel.choice import try_transports
    from muphy_lb.parallel.communicator import connect

    ranks = connect() if communicator is None else communicator
    if ranks.size < 2:
        return {"failure": "the launcher started ranks that do not see each other: it belongs to another MPI"}
    name = "cuda" if ranks.total(int(count_gpus() > 0)) == ranks.size else "numpy"
    backend = make_backend(name, lattice_named("D3Q19"), PRECISIONS["fp32"], ranks.local_rank)
    reasons = try_transports(ranks, backend)
    machines = ranks.total(int(ranks.local_rank == 0))
    found = {
        "library": ranks.library,
        "is_cuda_aware": ranks.is_cuda_aware,
        "ranks": ranks.size,
        "machines": machines,
        "device": name,
        "share_gpus": ranks.maximum(ranks.local_rank) >= count_gpus() > 0,
        "transports": reasons,
    }
    return found if ranks.rank == 0 else None


TRIALS: Mapping[str, Callable[[], dict | None]] = MappingProxyType({"cpu": try_cpu, "gpu": try_gpu, "ranks": try_ranks})
