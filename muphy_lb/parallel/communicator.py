"""The only module that imports mpi4py: the ranks of a run, with a serial stand-in and one way to end them all.

A rank that has ended its script early would be waited for without end. So all ranks first say, in each collective call,
whether they have come to their end: one that has says so when its interpreter exits, and ends the others if they
    continue.

NodeGather: values of all ranks in node-list order, which does not depend on the number of ranks, and back.
"""

import atexit
import ctypes
import os
import socket
import sys
import time
import traceback
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property, partial

import numpy as np

from muphy_lb.base.errors import InputError, MuphyError

# Any of these says that a launcher started this process as one of several ranks.
LAUNCHER_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
# A failing rank lets lower ranks, which may have failed in the same way, report first.
VOICE_DELAY_S = 1.0
LAST_TURN = 3
# A rank that is not the first to report is ended in that time; otherwise the first report was lost, and it reports
# after all.
SILENCE_S = 5.0
# A rank that never arrives ends the others before that.
PATIENCE_S = VOICE_DELAY_S * LAST_TURN + 2 * SILENCE_S
# mpirun drops what a rank wrote just before it aborts.
FORWARD_DELAY_S = 0.2
SWAP_TAG, PIECE_TAG = 1, 2  # the second of the first piece of a message, and those of the others follow


class KeptMessages:
    """Messages between the same arrays again and again: MPI matches and checks them once.

    Args:
        incoming, outgoing: persistent requests.

    Attributes:
        free: lets go of the requests; also called with the last reference, and as the process ends.
    """

    def __init__(self, mpi, incoming: list, outgoing: list):
        self._mpi, self._incoming, self._outgoing = mpi, incoming, outgoing
        self.free = weakref.finalize(self, _free, mpi, (*incoming, *outgoing))
        KEPT.add(self)

    def start_receiving(self) -> None:
        """Start all that come in."""
        self._mpi.Prequest.Startall(self._incoming)

    def start_sending(self, number: int) -> None:
        """Start one that goes out."""
        self._outgoing[number].Start()

    def arrivals(self) -> Iterator[int]:
        """The numbers of those that come in, as they arrive."""
        for _ in self._incoming:
            yield self._mpi.Request.Waitany(self._incoming)

    def complete(self) -> None:
        """Wait for all."""
        self._mpi.Request.Waitall([*self._incoming, *self._outgoing])


KEPT = weakref.WeakSet[KeptMessages]()
"""Those whose requests are to be freed ahead of the end of MPI: MPICH reports each one that it finds then."""


def _free(mpi, requests: tuple) -> None:
    if not mpi.Is_finalized():
        for request in requests:
            request.Free()


class SerialCommunicator:
    """One rank, no MPI."""

    rank = 0
    size = 1
    local_rank = 0

    def broadcast(self, value):
        """The value of rank 0."""
        return value

    def gather(self, value):
        """List of all ranks' values on rank 0, None elsewhere."""
        return [value]

    def maximum(self, value):
        """Largest value over all ranks."""
        return value

    def total(self, value):
        """Sum over all ranks; exact for integers, in no fixed order for floats."""
        return value

    def barrier(self):
        """Wait for all ranks."""

    def first(self, n_ranks: int):
        """A communicator of the first ranks, None on the others."""
        return self

    def group(self, n_ranks: int):
        """A communicator of as many consecutive ranks, of which this is one."""
        return self

    def abort(self, exit_code: int):
        """End all ranks with an exit code."""
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(exit_code)

    def finalise(self):
        """Leave MPI."""


class MpiCommunicator:
    """The ranks of an mpirun, or some of them, over mpi4py.

    Args:
        world: the ranks' mpi4py communicator; all of the mpirun if not given.
    """

    def __init__(self, mpi, world=None):
        self._mpi = mpi
        self._world = mpi.COMM_WORLD if world is None else world
        self._is_whole = world is None
        self.rank = self._world.Get_rank()
        self.size = self._world.Get_size()

    @cached_property
    def local_rank(self) -> int:
        """Rank among those on this machine; the first use is collective."""
        return self._machine.Get_rank()

    @cached_property
    def machine_ranks(self) -> frozenset[int]:
        """The ranks on this machine; the first use is collective."""
        return frozenset(self._machine.allgather(self.rank))

    @cached_property
    def library(self) -> str:
        """Name and version of the MPI library."""
        return self._mpi.Get_library_version().split(",")[0].split("\n")[0].strip("\0 ")

    @cached_property
    def is_cuda_aware(self) -> bool:
        """Whether the MPI library declares that it takes device memory."""
        kinds = self._world.Get_info().get("mpi_memory_alloc_kinds")  # of MPI 4.1
        return "cuda" in (kinds or "") or _query_cuda_support()

    @cached_property
    def _machine(self):
        return self._world.Split_type(self._mpi.COMM_TYPE_SHARED)

    def broadcast(self, value):
        """The value of rank 0."""
        self._meet()
        return self._world.bcast(value)

    def gather(self, value):
        """List of all ranks' values on rank 0, None elsewhere."""
        self._meet()
        return self._world.gather(value)

    def maximum(self, value):
        """Largest value over all ranks."""
        self._meet()
        return self._world.allreduce(value, op=self._mpi.MAX)

    def total(self, value):
        """Sum over all ranks; exact for integers, in no fixed order for floats."""
        self._meet()
        return self._world.allreduce(value)

    def barrier(self):
        """Wait for all ranks."""
        self._meet()
        self._world.Barrier()

    def _meet(self) -> None:
        """Begin a collective call, unless a rank has left its script, which ends this one soon."""
        if self._is_whole and self._n_leaving(False):
            time.sleep(PATIENCE_S)
            self.abort(1)

    def _n_leaving(self, is_leaving: bool) -> int:
        """Number of the ranks that have come to the end of their script."""
        number = np.array([is_leaving], dtype=np.int64)
        self._world.Allreduce(self._mpi.IN_PLACE, number)
        return int(number[0])

    def leave(self) -> int:
        """The end of this rank's script; number of the ranks that continue with theirs."""
        return 0 if self._mpi.Is_finalized() else self.size - self._n_leaving(True)

    def first(self, n_ranks: int):
        """A communicator of the first ranks, None on the others; collective."""
        if n_ranks == self.size:
            return self
        group = self._world.Split(0 if self.rank < n_ranks else self._mpi.UNDEFINED)
        return None if group == self._mpi.COMM_NULL else MpiCommunicator(self._mpi, group)

    def group(self, n_ranks: int):
        """A communicator of as many consecutive ranks, of which this is one; all keep their devices; collective."""
        group = MpiCommunicator(self._mpi, self._world.Split(self.rank // n_ranks))
        group.__dict__["local_rank"] = self.local_rank
        return group

    def send(self, array: np.ndarray, rank: int):
        """Send an array to a rank."""
        self._world.Send(array, rank)

    def receive(self, array: np.ndarray, rank: int):
        """Receive an array from a rank."""
        self._world.Recv(array, rank)

    def swap(self, messages: dict) -> dict:
        """Send an object to each of some ranks, and receive one from each of them."""
        requests = [self._world.isend(message, rank, SWAP_TAG) for rank, message in messages.items()]
        received = {rank: self._world.recv(source=rank, tag=SWAP_TAG) for rank in messages}
        self._mpi.Request.waitall(requests)
        return received

    def start_send(self, array, rank: int):
        """Start sending a contiguous array of host memory, or of device memory to a CUDA-aware MPI; returns a
        request."""
        return self._world.Isend(array.view(np.uint8), rank)  # MPI has no half precision

    def start_receive(self, array, rank: int):
        """Start receiving such an array; returns a request."""
        return self._world.Irecv(array.view(np.uint8), rank)

    def kept_messages(self, incoming: list[tuple], outgoing: list[tuple]) -> KeptMessages:
        """Messages that are sent again and again. ``incoming``, ``outgoing``: a contiguous array of host memory, the
        other rank, and a number for each, which distinguishes those between two ranks."""
        world = self._world
        come = [world.Recv_init(array.view(np.uint8), rank, PIECE_TAG + k) for array, rank, k in incoming]
        go = [world.Send_init(array.view(np.uint8), rank, PIECE_TAG + k) for array, rank, k in outgoing]
        return KeptMessages(self._mpi, come, go)

    def wait_all(self, requests):
        """Wait for requests."""
        self._mpi.Request.Waitall(requests)

    def abort(self, exit_code: int):
        """End all ranks with an exit code."""
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(FORWARD_DELAY_S)
        self._world.Abort(exit_code)

    def finalise(self):
        """Leave MPI."""
        for messages in tuple(KEPT):
            messages.free()
        self._mpi.Finalize()


def _query_cuda_support() -> bool:
    """CUDA support by the extension of Open MPI and MPICH, asked from the library that is loaded already."""
    for name in ("libmpi.so.40", "libmpi.so.12", "libmpi.so"):
        try:
            library = ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        except OSError:
            continue
        if hasattr(library, "MPIX_Query_cuda_support"):
            return bool(library.MPIX_Query_cuda_support())
    return False


def connect():
    """The communicator of this process: MPI when a launcher started it, else the serial stand-in. Raises InputError:
    srun started several tasks, but each of them is alone in its MPI; or no MPI library can be loaded."""
    if not any(name in os.environ for name in LAUNCHER_VARIABLES):
        return SerialCommunicator()
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise InputError(
            f"a launcher started this process, but no MPI library can be loaded ({error}); install the extra"
            " muphy_lb[mpi], or name the cluster's library in MPI4PY_LIBMPI"
        ) from error
    communicator = MpiCommunicator(MPI)
    _check_launcher(communicator.size)
    if communicator.size > 1:
        sys.excepthook = partial(_end_all_ranks, communicator)
        given = _exit_code()
        atexit.unregister(_leave)
        atexit.register(_leave, communicator, given, os.getpid())
    return communicator


@cache
def _exit_code() -> list:
    """The last argument of ``sys.exit``; from the first call of this function on."""
    given, leave = [None], sys.exit

    def noted(code=None):
        given[0] = code
        leave(code)

    sys.exit = noted
    return given


def _leave(communicator, given: list, process: int) -> None:
    """The end of the script on this rank, which ends the ranks that would wait for it; of a forked process nothing."""
    if os.getpid() != process or not communicator.leave():
        return
    code = given[0] if isinstance(given[0], int) and given[0] else 1
    wait_for_lower_ranks(communicator)
    sys.stderr.write(
        f"muphy-lb: error: rank {communicator.rank} of {communicator.size} has reached the end of its script, others"
        " continue; every rank must make every call, in the same order: all ranks end\n"
    )
    communicator.abort(code)


def _end_all_ranks(communicator, kind, error, trace) -> None:
    """An uncaught exception: print it, and end the ranks that would wait for this one for ever. Compiled libraries also
    report here what fails while an object is cleaned up and cannot be raised. Python code still runs then, and
    continues; Python reports such errors a second time, by ``sys.unraisablehook``."""
    if sys._getframe().f_back is not None:
        return
    wait_for_lower_ranks(communicator)
    traceback.print_exception(kind, error, trace)
    communicator.abort(1)


def _check_launcher(size: int) -> None:
    """Refuse the N equal one-rank runs that srun makes of an MPI that it does not know."""
    n_tasks = int(os.environ.get("SLURM_STEP_NUM_TASKS") or os.environ.get("SLURM_NTASKS") or 1)
    if "SLURM_PROCID" in os.environ and n_tasks > 1 and size == 1:
        raise InputError(
            f"SLURM has {n_tasks} tasks, but this MPI sees one rank: srun does not work with the MPI of this Python;"
            " try srun --mpi=pmi2 or --mpi=pmix (srun --mpi=list), start the ranks with mpirun,"
            " or use srun -n 1 if one rank is meant"
        )


def agreed(communicator, work: Callable):
    """The result of ``work()``, in which no rank waits for one that fails; what is wrong on any rank is raised on every
    rank, so that a script which catches it continues alike on all of them. Raises MuphyError: its own on a rank that
    has one, else that of the lowest rank."""
    (result,) = all_agreed(communicator, (work,))
    return result


def all_agreed(communicator, works: Iterable[Callable]) -> list:
    """The results of works of which each may communicate until it fails; none is left out where one before it fails, so
    that no rank waits for another. An error is raised on every rank behind the last. Raises MuphyError: its own first
    one on a rank that has one, else that of the lowest rank."""
    results, problem = [], None
    for work in works:
        try:
            results.append(work())
        except MuphyError as error:
            problem = problem or error
    first = next((each for each in communicator.gather(problem) or () if each), None)
    if first := communicator.broadcast(first):
        raise problem or first
    return results


def agreed_on_root(communicator, work: Callable):
    """The same of what rank 0 does alone; None elsewhere."""
    return agreed(communicator, lambda: work() if communicator.rank == 0 else None)


def from_root(communicator, work: Callable):
    """The result of what rank 0 does alone, on every rank; what is wrong with it is raised on all of them."""
    return communicator.broadcast(agreed_on_root(communicator, work))


def wait_for_lower_ranks(communicator) -> None:
    """Called by a failing rank before its message: by then a lower rank with the same failure has ended all ranks. The
    ranks from ``LAST_TURN`` on wait equally long; of those on one machine, the first reports and ends the others."""
    time.sleep(VOICE_DELAY_S * min(communicator.rank, LAST_TURN))
    if communicator.size > 1 and not _is_first_to_speak():
        time.sleep(SILENCE_S)


def _is_first_to_speak() -> bool:
    """Whether no other rank of this run on this machine, which the launcher's same process has started, has asked."""
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(f"\0muphy_lb voice {os.getppid()}")
    except OSError:
        return False
    name.detach()  # kept by this process to its end
    return True


class NodeGather:
    """Collects per-node values into rank-independent order, and hands them out again, one component at a time.
    ``number``: (n_local,) node-list number of the local nodes, in run order; ``n_global``: number of nodes of the whole
    geometry."""

    def __init__(self, communicator, number: np.ndarray, n_global: int):
        self._communicator = communicator
        self._number = number
        self._n_global = n_global
        sizes = communicator.gather(number.size)
        if communicator.rank:
            communicator.send(np.ascontiguousarray(number), 0)
        else:
            others = (self._received(rank, sizes[rank], number.dtype) for rank in range(1, len(sizes)))
            self._numbers = [number, *others]

    def collect(self, values: np.ndarray) -> np.ndarray | None:
        """(n_global,) values in node-list order on rank 0, None elsewhere; ``values`` is (n_local,)."""
        if self._communicator.rank:
            self._communicator.send(np.ascontiguousarray(values), 0)
            return None
        result = np.empty(self._n_global, values.dtype)
        result[self._number] = values
        for rank in range(1, self._communicator.size):
            result[self._numbers[rank]] = self._received(rank, self._numbers[rank].size, values.dtype)
        return result

    def scatter(self, values: np.ndarray | None, dtype=np.float64) -> np.ndarray:
        """(n_local,) values, of ``dtype``, of the local nodes of (n_global,) ones in node-list order on rank 0."""
        if self._communicator.rank:
            return self._received(0, self._number.size, dtype)
        values = np.asarray(values, dtype=dtype)
        for rank in range(1, self._communicator.size):
            self._communicator.send(np.ascontiguousarray(values[self._numbers[rank]]), rank)
        return values[self._number]

    def _received(self, rank: int, size: int, dtype) -> np.ndarray:
        piece = np.empty(size, dtype)
        self._communicator.receive(piece, rank)
        return piece
