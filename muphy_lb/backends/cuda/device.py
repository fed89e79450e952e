"""The only module that imports ``numba.cuda``: a successor with the same API is a one-line change here."""

import gc
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numba
from numba import cuda

from muphy_lb.base.errors import BackendError
from muphy_lb.base.narrow import pair

SIMULATOR = bool(numba.config.ENABLE_CUDASIM)
if SIMULATOR:
    intrinsic: Any = None
    dumps_of_functions: Any = None
else:
    from numba.cuda import extending, serialize

    intrinsic, dumps_of_functions = extending.intrinsic, serialize.dumps
INSTALL_HINT = 'install the GPU extra: pip install "muphy_lb[gpu]" (CUDA 13 driver) or "muphy_lb[cuda12]"'


# Allocations of other processes: address here, and how often it was opened. The driver maps each once a process.
_opened: dict[bytes, list[int]] = {}
# Small launches are meant: the edge of a domain, and domains that users choose.
warnings.filterwarnings("ignore", message=".*Grid size .* low occupancy")


# How urgent a stream is.
ORDINARY, MORE, MOST = 0.0, 0.5, 1.0


def n_devices() -> int:
    """Number of CUDA devices that can be used here; the simulator counts as one."""
    if SIMULATOR:
        return 1
    try:
        return len(cuda.gpus) if cuda.is_available() else 0
    except Exception:  # a broken driver shows itself in many exception types, and all mean: no GPU here
        return 0


def select_device(index: int) -> str:
    """Make device ``index`` this process's device and return its name. Raises BackendError: Numba's built-in
    (unmaintained) CUDA target instead of numba-cuda."""
    if SIMULATOR:
        return "CUDA simulator"
    if getattr(cuda, "implementation", "") != "NVIDIA":
        raise BackendError(f"numba.cuda here is Numba's built-in copy, which is no longer maintained; {INSTALL_HINT}")
    cuda.select_device(index % n_devices())
    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def capability(index: int) -> tuple[int, int]:
    """Compute capability of device ``index``, which is not made that of this process."""
    return pair(int(number) for number in cuda.gpus[index % n_devices()].compute_capability)


def stand_in_for_device(capability: tuple[int, int]) -> bool:
    """Let this process, which uses no device, compile for those of a compute capability; kernels are not loaded."""
    from numba.cuda import dispatcher
    from numba.cuda.cudadrv import devices

    device = SimpleNamespace(compute_capability=capability)
    dispatcher.get_current_device = lambda: device
    devices.get_context = lambda: SimpleNamespace(device=device)
    dispatcher._Kernel.bind = lambda kernel: kernel.library.get_cubin()
    return True


@contextmanager
def without_ptx() -> Iterator[None]:
    """Context in which a new kernel does without its PTX, half of the work of NVVM: Numba searches it for the names of
    functions that have to be linked, which are in the text for LLVM, too."""
    from numba.cuda.codegen import CUDACodeLibrary

    text_of = CUDACodeLibrary.get_asm_str
    CUDACodeLibrary.get_asm_str = CUDACodeLibrary.get_llvm_str
    try:
        yield
    finally:
        CUDACodeLibrary.get_asm_str = text_of


def memory_free() -> tuple[int, int]:
    """(free, total) bytes of the current device."""
    return pair(int(size) for size in cuda.current_context().get_memory_info())


def release_freed() -> None:
    """Give back memory of arrays that are gone, which Numba keeps for a while."""
    if not SIMULATOR:
        context = cuda.current_context()
        for pending in (context.memory_manager.deallocations, context.deallocations):
            pending.clear()


def clear(array) -> None:
    """Zeros, whatever the size; Numba's own assignment takes an element a thread."""
    if SIMULATOR:
        array[:] = 0
    else:
        cuda.cudadrv.driver.device_memset(array, 0, array.nbytes)


def make_stream(owner, urgency: float):
    """A stream whose kernels go before those of less urgent ones; it is destroyed when ``owner`` is garbage. (Numba's
    own have no priorities, and may never be destroyed, since its cache of launch configurations keeps them.)

    Args:
        owner: what uses it.
        urgency: from ``ORDINARY`` to ``MOST``.

    Raises BackendError: the driver refuses.
    """
    if SIMULATOR:
        return cuda.stream()
    from cuda.bindings import driver

    cuda.current_context()
    status, least, most = driver.cuCtxGetStreamPriorityRange()
    if status == driver.CUresult.CUDA_SUCCESS:
        flags = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
        status, handle = driver.cuStreamCreateWithPriority(flags.value, round(least + urgency * (most - least)))
    if status != driver.CUresult.CUDA_SUCCESS:
        raise BackendError(f"the CUDA driver refused a stream: {status}; check the driver with nvidia-smi")
    weakref.finalize(owner, driver.cuStreamDestroy, handle).atexit = False  # type: ignore[misc]  # a slot in the stubs
    return cuda.external_stream(int(handle))


def record_graph(stream, work):
    """Record what ``work()`` launches on ``stream``, and on streams that wait for it in between, as one CUDA graph.

    Launching the graph costs the host a few microseconds, launching every kernel from Python about 25 each. Kernels
    keep the priority of the stream that they were recorded on; left alone, a graph gives all that of its own stream.

    Returns:
        A function that launches the recorded work on ``stream``; the executable graph is destroyed with it.

    Raises BackendError: the driver refuses.
    """
    from cuda.bindings import driver

    handle = driver.CUstream(int(stream))
    graph = _captured(handle, work)
    priorities = driver.CUgraphInstantiate_flags.CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY
    try:
        executable = _checked(*driver.cuGraphInstantiate(graph, priorities.value))
    finally:
        driver.cuGraphDestroy(graph)

    def launch():
        _checked(*driver.cuGraphLaunch(executable, handle))

    launch.uses = work  # such as an NCCL communicator, which must not end before the graph
    weakref.finalize(launch, driver.cuGraphExecDestroy, executable).atexit = False
    return launch


def _captured(handle, work):
    from cuda.bindings import driver

    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    with _without_collector():
        _checked(*driver.cuStreamBeginCapture(handle, mode))
        try:
            work()
        except BaseException:
            driver.cuStreamEndCapture(handle)  # fails, too, and would hide why
            raise
        return _checked(*driver.cuStreamEndCapture(handle))


@contextmanager
def _without_collector() -> Iterator[None]:
    """Context without garbage collection: to free what another simulation has left would spoil a capture."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def share_memory(address: int) -> tuple[bytes, int]:
    """A handle by which another process reaches an address of this one: of its allocation, and how far it lies inside.
    Raises BackendError: the driver refuses."""
    from cuda.bindings import driver

    base, _ = _checked(*driver.cuMemGetAddressRange(driver.CUdeviceptr(address)))
    handle = _checked(*driver.cuIpcGetMemHandle(base))
    return bytes(handle.reserved), address - int(base)


def open_memory(handle: bytes) -> int:
    """Address here of an allocation of another process, which may be opened several times. Raises BackendError: the
    driver refuses."""
    from cuda.bindings import driver

    if handle not in _opened:
        theirs = driver.CUipcMemHandle()
        theirs.reserved = handle
        flags = driver.CUipcMem_flags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
        _opened[handle] = [int(_checked(*driver.cuIpcOpenMemHandle(theirs, flags.value))), 0]
    _opened[handle][1] += 1
    return _opened[handle][0]


def close_memory(handle: bytes) -> None:
    """The inverse of :func:`open_memory`; at the end of a process it may come too late, and that is as well."""
    from cuda.bindings import driver

    _opened[handle][1] -= 1
    if _opened[handle][1] == 0:
        address, _ = _opened.pop(handle)
        driver.cuIpcCloseMemHandle(driver.CUdeviceptr(address))


def _checked(status, *results):
    """The results of a call of the driver."""
    if status:
        raise BackendError(f"the CUDA driver answered {status.name}; check the driver with nvidia-smi")
    return results[0] if len(results) == 1 else results


def event(timing: bool = False):
    """An event that orders streams; without the cost of a clock, unless asked for, where the API offers that."""
    return cuda.event() if SIMULATOR else cuda.event(timing=timing)


def event_seconds(first, second) -> float:
    """Between two events with clocks; the simulator has none."""
    return 0.0 if SIMULATOR else cuda.event_elapsed_time(first, second) / 1e3


__all__ = [
    "MORE",
    "MOST",
    "ORDINARY",
    "SIMULATOR",
    "capability",
    "clear",
    "close_memory",
    "cuda",
    "dumps_of_functions",
    "event",
    "event_seconds",
    "intrinsic",
    "make_stream",
    "memory_free",
    "n_devices",
    "open_memory",
    "record_graph",
    "select_device",
    "share_memory",
    "stand_in_for_device",
    "without_ptx",
]
