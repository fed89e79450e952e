"""The specification: every skeleton as a line or two of NumPy, calling the operators' vectorised references."""

import numpy as np

from muphy_lb.backends.interface import LinkArrays, NodeRange, Populations, ReductionArrays, StreamArrays, WallArrays


class NumpyBackend:
    """See :class:`muphy_lb.backends.interface.Backend`. Obvious and slow; what the others are checked against."""

    name = "numpy"
    device = "CPU (NumPy specification)"
    on_host = True

    def __init__(self, lattice, real):
        self.lattice = lattice
        self.real = real

    def array(self, host):
        """A copy."""
        return np.array(host)

    def zeros(self, size, dtype):
        """Zeros."""
        return np.zeros(size, dtype)

    host_buffer = zeros

    def to_host(self, array):
        """A copy."""
        return array.copy()

    def update(self, array, host):
        """Overwrite."""
        array[...] = host

    def synchronise(self):
        """Nothing to wait for."""

    def mark_interior(self):
        """One thing after the other."""

    edge_waits = interior_waits = mark_interior

    def record(self, launches):
        """A loop."""

        def run():
            for launch in launches:
                launch()

        return run

    def reduction_workers(self, n_nodes):
        """One."""
        return 1

    def _populations(self, buffer, pitch):
        return buffer[: self.lattice.q * pitch].reshape(self.lattice.q, pitch)

    def _macroscopic(self, macroscopic, populations: Populations, parameters):
        f = self._populations(populations.buffer, populations.pitch)[:, : populations.n_nodes]
        return macroscopic.reference(f, np.arange(populations.n_nodes), self.lattice, parameters)

    def bind_stream_collide(self, collide, streaming, arrays: StreamArrays, nodes: NodeRange, parameters):
        """f = old[table] (pull), or new[table] = f (push)."""
        part = slice(nodes.first, nodes.last)
        n = np.arange(nodes.first, nodes.last)
        old, new = (self._populations(buffer, arrays.pitch) for buffer in (arrays.old, arrays.new))

        def pull():
            new[:, part] = collide.reference(arrays.old[arrays.table[:, part]], n, self.lattice, parameters)

        def push():
            arrays.new[arrays.table[:, part]] = collide.reference(old[:, part], n, self.lattice, parameters)

        return {"pull": pull, "push": push}[streaming]

    def stream_collide_usage(self, collide, streaming):
        """No kernel."""
        return None

    def bind_links(self, openings, macroscopic, state, buffer, links: LinkArrays, parameters):
        """buffer[incoming] = condition(buffer[outgoing])."""

        def fill():
            f = self._populations(state, links.pitch)[:, links.node]
            velocity = macroscopic.reference(f, links.node, self.lattice, parameters)[1:]
            condition = links.kind[links.opening], links.value[links.opening]
            buffer[links.incoming] = openings.reference(
                buffer[links.outgoing], links.q, condition, links.momentum, velocity, self.lattice
            )

        return fill

    def bind_walls(self, walls, buffer, links: WallArrays):
        """buffer[incoming] = rule(buffer[outgoing], buffer[arriving], buffer[opposed])."""
        coefficients = links.coefficients.reshape(4, -1)

        def fill():
            met = (buffer[address] for address in (links.outgoing, links.arriving, links.opposed))
            buffer[links.incoming] = walls.reference(*met, coefficients, links.value[links.wall])

        return fill

    def bind_moments(self, macroscopic, populations: Populations, out, parameters):
        """Four rows: rho - 1, ux, uy, uz."""

        def moments():
            out.reshape(4, -1)[...] = self._macroscopic(macroscopic, populations, parameters)

        return moments

    def bind_reduction(self, macroscopic, populations: Populations, result: ReductionArrays, parameters):
        """One worker does it all."""

        def reduce():
            deviation, *u = self._macroscopic(macroscopic, populations, parameters)
            speed = np.sqrt(sum(component**2 for component in u))
            finite = bool(np.isfinite(speed).all())
            result.mass[0] = deviation.sum()
            result.peak[0] = speed.max() if finite else np.inf
            result.speed[0] = (speed * result.scale).astype(np.int64).sum() if finite else 0

        return reduce

    def view(self, array, first, last):
        """A slice."""
        return array[first:last]

    def bind_copy(self, source, target):
        """target = source."""
        return lambda: np.copyto(target, source)

    def bind_pack(self, buffer, addresses, packed, host):
        """host = buffer[addresses]."""

        def pack():
            host[...] = buffer[addresses]

        return pack

    def finish_pack(self):
        """Packing is immediate."""

    def bind_unpack(self, host, packed, buffer, addresses):
        """buffer[addresses] = host."""

        def unpack():
            buffer[addresses] = host

        return unpack
