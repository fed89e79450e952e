"""The CPU backend: NumPy memory, Numba loops over threads."""

import numba

from muphy_lb.backends.cpu import skeletons
from muphy_lb.backends.interface import LinkArrays, NodeRange, Populations, ReductionArrays, StreamArrays
from muphy_lb.backends.numpy.backend import NumpyBackend


class CpuBackend(NumpyBackend):
    """See :class:`muphy_lb.backends.interface.Backend`; memory and packing are NumPy's."""

    name = "cpu"

    @property
    def device(self):
        """Thread count in words."""
        return f"CPU ({numba.get_num_threads()} threads)"

    def reduction_workers(self, n_nodes):
        """One per chunk."""
        return -(-n_nodes // skeletons.CHUNK)

    def bind_stream_collide(self, collide, streaming, arrays: StreamArrays, nodes: NodeRange, parameters):
        """Compiled pull or push."""
        skeleton = skeletons.stream_collide(collide, streaming, self.lattice, self.real)
        return lambda: skeleton(arrays.old, arrays.new, arrays.table, nodes.first, nodes.last, parameters)

    def bind_links(self, openings, macroscopic, state, buffer, links: LinkArrays, parameters):
        """Compiled link loop."""
        skeleton = skeletons.links(openings, macroscopic, self.lattice, self.real)
        fixed = (links.node, links.q, links.outgoing, links.incoming, links.opening, links.momentum)
        return lambda: skeleton(state, buffer, *fixed, links.kind, links.value, links.pitch, parameters)

    def bind_moments(self, macroscopic, populations: Populations, out, parameters):
        """Compiled moments."""
        skeleton = skeletons.moments(macroscopic, self.lattice, self.real)
        rows = out.reshape(4, -1)
        return lambda: skeleton(populations.buffer, populations.pitch, rows, parameters)

    def bind_reduction(self, macroscopic, populations: Populations, result: ReductionArrays, parameters):
        """Compiled reduction."""
        skeleton = skeletons.reduction(macroscopic, self.lattice, self.real)
        arrays = (result.mass, result.peak, result.speed, result.scale)
        return lambda: skeleton(populations.buffer, populations.pitch, populations.n_nodes, *arrays, parameters)

    def bind_copy(self, source, target):
        """Parallel copy."""
        return lambda: skeletons.copy(source, target)
