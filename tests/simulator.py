"""Numba's CUDA simulator in a fraction of its time: the threads of a block take turns.

By itself the simulator starts a thread of the operating system for each of them, and asks all again and again whether
they wait at a barrier. Here one worker runs them one after another; when one waits, another worker takes over the rest.
They run in the order of their numbers in one block and in the opposite order in the next: no result may depend on it.
Nor does each call of a device function look through the names of its module for ``cuda``, or each shared array through
the whole stack for the line of its own.
"""

import threading
from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace

import numpy as np
from numba import cuda
from numba.cuda.simulator import kernel, kernelapi
from numba.cuda.simulator.kernelapi import Dim3

_blocks = count()


def take_turns() -> None:
    """Let the simulator run blocks in this way from now on."""
    kernel.BlockManager, kernel.FakeCUDAKernel.__call__ = Block, _call
    kernelapi.traceback = SimpleNamespace(extract_stack=_caller)


_launch = kernel.FakeCUDAKernel.__call__
_modules: dict[int, dict] = {}  # names of each module by their identity, which they keep as long as they are here


def _call(self, *arguments):
    """Call a device function or launch a kernel."""
    names = self.fn.__globals__
    if id(names) not in _modules:
        _modules[id(names)] = names
        names.update({name: WithinKernels() for name, value in names.items() if value is cuda})
    return self.fn(*arguments) if self._device else _launch(self, *arguments)


def _caller(frame) -> tuple:
    """File and line from which a frame was called, as the last but one of a stack."""
    return (frame.f_back.f_code.co_filename, frame.f_back.f_lineno), ()


class WithinKernels:
    """Stands for ``numba.cuda`` in a module: what the running kernel sees of it; where none runs, the module itself."""

    def __getattr__(self, name):
        return getattr(kernel._get_kernel_context() or cuda, name)


def closed() -> threading.Lock:
    """A gate that lets one thread through each time it is released."""
    gate = threading.Lock()
    gate.acquire()
    return gate


class Block:
    """A block of threads that is run; the simulator makes one for each.

    Args:
        function: the kernel.
        grid_dim: not used.
        block_dim: number of threads along each axis.
        debug: not used.
    """

    def __init__(self, function, grid_dim, block_dim, debug):
        points = list(np.ndindex(*block_dim))
        self.function, self.block_dim = function, block_dim
        self.points: Iterator[tuple[int, int, int]] = iter(points if next(_blocks) % 2 else points[::-1])
        self.waiting: list[Worker] = []
        self.votes: list[bool] = []
        self.turn_is_over = closed()

    def run(self, grid_point, *arguments) -> None:
        """Run all threads to their end."""
        while self._let(Worker(self, grid_point, arguments)) in self.waiting:
            pass  # others take over as long as threads wait
        while self.waiting:
            beyond, self.waiting, self.votes = self.waiting, [], []
            for worker in beyond:
                self._let(worker)

    def _let(self, worker: "Worker") -> "Worker":
        """Let a worker run until a thread waits, or no thread is left."""
        worker.proceed()
        self.turn_is_over.acquire()
        if worker.exception is not None:
            raise worker.exception
        return worker


class Worker(threading.Thread):
    """Runs threads of a block, one after another; the simulator asks it for the number of the thread that runs."""

    def __init__(self, block: Block, grid_point, arguments):
        super().__init__(daemon=True)
        self.block, self.arguments, self.exception = block, arguments, None
        self.blockIdx, self.threadIdx, self.thread_id = Dim3(*grid_point), None, None
        self._may_proceed = closed()

    def proceed(self) -> None:
        """Start, or continue beyond the barrier."""
        if self.is_alive():
            self._may_proceed.release()
        else:
            self.start()

    def run(self) -> None:
        """Run threads until none is left."""
        try:
            for point in self.block.points:
                self.threadIdx = Dim3(*point)
                self.thread_id = int(np.ravel_multi_index(point[::-1], self.block.block_dim[::-1]))
                self.block.function(*self.arguments)
        except Exception as error:  # it belongs to whoever launched the kernel
            self.exception = error
        self.block.turn_is_over.release()

    def syncthreads_or(self, vote) -> bool:
        """Wait likewise; whether the vote of any thread is not 0."""
        votes = self.block.votes
        votes.append(bool(vote))
        self.syncthreads()
        return any(votes)

    def syncthreads(self) -> None:
        """Wait until all threads of the block do, or have ended."""
        self.block.waiting.append(self)
        self.block.turn_is_over.release()
        self._may_proceed.acquire()
