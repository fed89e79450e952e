"""The CPU backend: NumPy memory, Numba loops over threads."""

import numba

from muphy_lb.backends.cpu import skeletons
from muphy_lb.backends.interface import LinkArrays, NodeRange, Populations, ReductionArrays, StreamArrays, WallArrays
from muphy_lb.backends.numpy.backend import NumpyBackend

# Below this a barrier between threads costs more than it saves, most of all on a busy machine.
NODES_PER_THREAD = 4096


class CpuBackend(NumpyBackend):
    """See :class:`muphy_lb.backends.interface.Backend`; memory and packing are NumPy's."""

    name = "cpu"

    @property
    def device(self):
        """Thread count in words."""
        return f"CPU ({numba.config.NUMBA_NUM_THREADS} threads)"

    def reduction_workers(self, n_nodes):
        """One per chunk."""
        return -(-n_nodes // skeletons.CHUNK)

    def bind_stream_collide(self, collide, streaming, arrays: StreamArrays, nodes: NodeRange, parameters):
        """Compiled pull or push."""
        skeleton = skeletons.stream_collide(collide, streaming, self.lattice, self.real)
        arguments = (arrays.old, arrays.new, arrays.table, nodes.first, nodes.last, parameters)
        return _on_threads(nodes.last - nodes.first, lambda: skeleton(*arguments))

    def bind_links(self, openings, macroscopic, state, buffer, links: LinkArrays, parameters):
        """Compiled link loop."""
        skeleton = skeletons.links(openings, macroscopic, self.lattice, self.real)
        fixed = (links.node, links.q, links.outgoing, links.incoming, links.opening, links.momentum)
        return lambda: skeleton(state, buffer, *fixed, links.kind, links.value, links.pitch, parameters)

    def bind_walls(self, walls, buffer, links: WallArrays):
        """Compiled loop over wall links."""
        skeleton = skeletons.walls(walls, self.lattice, self.real)
        arguments = (links.outgoing, links.arriving, links.opposed, links.incoming, links.coefficients, links.wall)
        return _on_threads(links.wall.size, lambda: skeleton(buffer, *arguments, links.value))

    def bind_moments(self, macroscopic, populations: Populations, out, parameters):
        """Compiled moments."""
        skeleton = skeletons.moments(macroscopic, self.lattice, self.real)
        rows = out.reshape(4, -1)
        arguments = (populations.buffer, populations.pitch, rows, parameters)
        return _on_threads(populations.n_nodes, lambda: skeleton(*arguments))

    def bind_reduction(self, macroscopic, populations: Populations, result: ReductionArrays, parameters):
        """Compiled reduction."""
        skeleton = skeletons.reduction(macroscopic, self.lattice, self.real)
        arrays = (result.mass, result.peak, result.speed, result.scale)
        arguments = (populations.buffer, populations.pitch, populations.n_nodes, *arrays, parameters)
        return _on_threads(populations.n_nodes, lambda: skeleton(*arguments))

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
