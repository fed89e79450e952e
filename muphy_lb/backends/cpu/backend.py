"""The CPU backend: NumPy memory, Numba loops over threads."""

from typing import NamedTuple

import numba
import numpy as np

from muphy_lb.backends.cpu import skeletons
from muphy_lb.backends.interface import (
    GhostArrays,
    LinkArrays,
    NodeRange,
    ReductionArrays,
    State,
    StencilArrays,
    StreamArrays,
    WallArrays,
)
from muphy_lb.backends.numpy.backend import NumpyBackend
from muphy_lb.domain import WARP
from muphy_lb.errors import BackendError

# Below this a barrier between threads costs more than it saves, most of all on a busy machine.
NODES_PER_THREAD = 4096
CACHE_LINE = 64
# Buffers beyond this do not stay in the caches: what is stored there goes past them.
CACHED_BYTES = 1 << 24


class HostTable(NamedTuple):
    """A run table with signed bases, which may lie before the buffer."""

    lines: np.ndarray
    bases: np.ndarray


class CpuBackend(NumpyBackend):
    """See :class:`muphy_lb.backends.interface.Backend`; memory and packing are NumPy's.

    Raises:
        BackendError: half precision, for which CPUs have no arithmetic.
    """

    name = "cpu"

    def __init__(self, lattice, precision):
        if precision.storage is np.float16:
            raise BackendError(
                "precision 'fp16' needs a GPU, CPUs gain nothing from it; use fp32 or fp64, or backend = 'cuda'"
            )
        super().__init__(lattice, precision)

    @property
    def device(self):
        """Thread count in words."""
        return f"CPU ({numba.config.NUMBA_NUM_THREADS} threads)"

    def zeros(self, size, dtype):
        """Zeros from the start of a cache line on, first touched by the threads that will use them."""
        itemsize = np.dtype(dtype).itemsize
        memory = np.empty(size * itemsize + CACHE_LINE, np.uint8)
        first = -memory.ctypes.data % CACHE_LINE
        array = memory[first : first + size * itemsize].view(dtype)
        _on_threads(size, lambda: skeletons.clear(array))()
        self._count(memory)
        return array

    def reduction_workers(self, n_nodes):
        """One per chunk."""
        return -(-n_nodes // skeletons.CHUNK_NODES)

    def stream_table(self, addresses, turn):
        """The run table."""
        runs = addresses.runs(turn)
        signed = {np.uint32: np.int32, np.uint64: np.int64}[runs.bases.dtype.type]
        if signed is np.int32 and addresses.n_slots >= 2**31:
            bases = runs.bases.astype(np.int64)
            bases[bases >= addresses.n_slots] -= 2**32
        else:
            bases = runs.bases.view(signed)
        return HostTable(self.array(runs.lines), self.array(bases))

    def bind_stream_collide(self, collide, arrays: StreamArrays, nodes: NodeRange, parameters, shape=None):
        """Compiled, a warp of nodes at a time."""
        streams = arrays.pattern.streaming == "pull" and arrays.new.nbytes > CACHED_BYTES
        skeleton = skeletons.stream_collide(collide, arrays.pattern, self.lattice, self.precision, streams)
        warps = nodes.first // WARP, -(-nodes.last // WARP)
        arguments = (arrays.old, arrays.new, *arrays.table, *warps, parameters)
        return _on_threads(nodes.last - nodes.first, lambda: skeleton(*arguments))

    def bind_stencil(self, update, arrays: StencilArrays, nodes: NodeRange, parameters):
        """Compiled, a warp of nodes at a time."""
        make = skeletons.carried if arrays.row else skeletons.stencil
        skeleton = make(update, arrays.n_neighbours, self.lattice, self.precision)
        row = (arrays.row,) if arrays.row else ()
        arguments = (arrays.old, arrays.new, *arrays.table, nodes.first, nodes.last, *row, parameters)
        return _on_threads(nodes.last - nodes.first, lambda: skeleton(*arguments))

    def bind_ghosts(self, field, target, ghosts: GhostArrays, queue):
        """Compiled loop over ghosts."""
        return _on_threads(target.size, lambda: skeletons.ghosts(field, target, ghosts))

    def bind_links(self, operators, state, buffer, target, links: LinkArrays, parameters):
        """Compiled link loop."""
        skeleton = skeletons.links(*operators, self.lattice, self.precision)
        return lambda: skeleton(state, buffer, target, links, parameters)

    def bind_walls(self, walls, buffer, target, links: WallArrays):
        """Compiled loop over wall links."""
        skeleton = skeletons.walls(walls, self.lattice, self.precision)
        return _on_threads(links.wall.size, lambda: skeleton(buffer, target, links))

    def bind_moments(self, macroscopic, state: State, nodes: NodeRange, out, parameters):
        """Compiled moments."""
        skeleton = skeletons.moments(macroscopic, state.places, self.lattice, self.precision)
        arguments = (state.buffer, *state.table, nodes.first, nodes.last, out.reshape(4, -1), parameters)
        return lambda: skeleton(*arguments)

    def bind_reduction(self, macroscopic, state: State, result: ReductionArrays, parameters):
        """Compiled reduction."""
        skeleton = skeletons.reduction(macroscopic, state.places, self.lattice, self.precision)
        arguments = (state.buffer, *state.table, state.n_nodes, result, parameters)
        return _on_threads(state.n_nodes, lambda: skeleton(*arguments))

    def bind_read(self, state: State, nodes: NodeRange, out):
        """Compiled copy."""
        skeleton = skeletons.read(state.places, self.lattice.q, self.precision.real)
        arguments = (state.buffer, *state.table, nodes.first, nodes.last, out.reshape(self.lattice.q, -1))
        return lambda: skeleton(*arguments)

    def bind_write(self, state: State, nodes: NodeRange, rows):
        """Compiled copy."""
        skeleton = skeletons.write(state.places, self.lattice.q, self.precision.real)
        arguments = (state.buffer, *state.table, nodes.first, nodes.last, rows.reshape(self.lattice.q, -1))
        return lambda: skeleton(*arguments)

    def bind_copy(self, source, target):
        """Parallel copy."""
        return _on_threads(source.size, lambda: skeletons.copy(source, target))


def _on_threads(n_nodes: int, work):
    """The work on as many threads as its nodes are worth."""
    n_threads = max(1, min(numba.config.NUMBA_NUM_THREADS, n_nodes // NODES_PER_THREAD))

    def launch():
        numba.set_num_threads(n_threads)
        work()

    return launch
