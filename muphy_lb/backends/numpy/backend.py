"""The specification: every skeleton as a line or two of NumPy, calling the operators' vectorised references.

It reads the uncompressed table, and computes in double precision and in lattice units whatever is stored.
"""

import time
import weakref

import numpy as np

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
from muphy_lb.domain import all_addresses, entry, is_entry


class NumpyBackend:
    """See :class:`muphy_lb.backends.interface.Backend`. Obvious and slow; what the others are checked against."""

    name = "numpy"
    device = "CPU (NumPy specification)"
    on_host = True

    def __init__(self, lattice, precision):
        self.lattice = lattice
        self.precision = precision
        self.allocated_bytes = 0

    def array(self, host):
        """A copy."""
        return self._count(np.array(host))

    def zeros(self, size, dtype):
        """Zeros."""
        return self._count(np.zeros(size, dtype))

    def host_buffer(self, size, dtype):
        """Zeros."""
        return np.zeros(size, dtype)

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

    edge_waits = interior_waits = openings_wait_for_edge = edge_waits_for_openings = mark_interior

    def record(self, launches, queue=None):
        """A loop."""

        def run():
            for launch in launches:
                launch()

        return run

    def stamp(self, queue):
        """The time: what was launched is done."""
        return time.perf_counter()

    def seconds_between(self, first, second):
        """A difference."""
        return second - first

    def reduction_workers(self, n_nodes):
        """One."""
        return 1

    def stream_table(self, addresses, turn):
        """The uncompressed table."""
        return self.array(addresses.plain(turn))

    def launch_shapes(self, pattern):
        """None to choose from."""
        return (None,)

    def bind_stream_collide(self, collide, arrays: StreamArrays, nodes: NodeRange, parameters, shape=None):
        """new[store] = collide(old[load])."""
        n = np.arange(nodes.first, nodes.last)
        pattern, whole = arrays.pattern, State(arrays.old, (), arrays.table, nodes.last)
        load, store = (self._addresses(whole, places)[:, n] for places in (pattern.load, pattern.store))

        def step():
            f = self._loaded(arrays.old[load])
            arrays.new[store] = self._stored(collide.reference(f, n, self.lattice, self._in_lattice_units(parameters)))

        return step

    def stream_collide_usage(self, collide, arrays, shape=None):
        """No kernel."""
        return None

    def bind_stencil(self, update, arrays: StencilArrays, nodes: NodeRange, parameters):
        """new[n] = update(old[own and table])."""
        n = np.arange(nodes.first, nodes.last)
        places = np.concatenate((n[None], arrays.table[:, n]))
        targets = n + arrays.row * np.arange(len(places))[:, None] if arrays.row else n

        def step():
            arrays.new[targets] = update.reference(arrays.old[places], n, self.lattice, parameters)

        return step

    def bind_ghosts(self, field, target, ghosts: GhostArrays, queue):
        """target = constant + sum of weight * field[index]."""
        index, weight = (rows.reshape(-1, ghosts.constant.size) for rows in (ghosts.index, ghosts.weight))

        def fill():
            target[...] = ghosts.constant + sum(w * field[i] for w, i in zip(weight, index, strict=True))

        return fill

    def bind_links(self, operators, state, buffer, target, links: LinkArrays, parameters):
        """target[incoming] = condition(buffer[outgoing])."""
        openings, macroscopic = operators
        of_link = np.repeat(np.arange(links.node.size), np.diff(links.start))

        def fill():
            f = self._loaded(state[links.state.reshape(self.lattice.q, -1)])
            own = self._in_lattice_units(parameters)
            velocity = macroscopic.reference(f, links.node, self.lattice, own)[1:, of_link]
            condition = links.kind[links.opening], links.value[links.opening]
            entering = openings.reference(
                self._loaded(buffer[links.outgoing]), links.q, condition, links.momentum, velocity, self.lattice
            )
            target[links.incoming] = self._stored(entering)

        return fill

    def bind_walls(self, walls, buffer, target, links: WallArrays):
        """target[incoming] = rule(buffer[outgoing], buffer[arriving], buffer[opposed])."""
        coefficients = links.coefficients.reshape(4, -1)

        def fill():
            met = (self._loaded(buffer[address]) for address in (links.outgoing, links.arriving, links.opposed))
            target[links.incoming] = self._stored(walls.reference(*met, coefficients, links.value[links.wall]))

        return fill

    def bind_moments(self, macroscopic, state: State, nodes: NodeRange, out, parameters):
        """Four rows: rho - 1, ux, uy, uz."""

        def moments():
            out.reshape(4, -1)[...] = self._macroscopic(macroscopic, state, nodes, parameters)

        return moments

    def bind_reduction(self, macroscopic, state: State, result: ReductionArrays, parameters):
        """One worker does it all."""

        def reduce():
            nodes = NodeRange(0, state.n_nodes)
            deviation, *u = self._macroscopic(macroscopic, state, nodes, parameters)
            speed = np.sqrt(sum(component**2 for component in u))
            finite = bool(np.isfinite(speed).all())
            result.mass[0] = deviation.sum()
            result.peak[0] = speed.max() if finite else np.inf
            result.speed[0] = (speed * result.scale).astype(np.int64).sum() if finite else 0

        return reduce

    def bind_read(self, state: State, nodes: NodeRange, out):
        """out = buffer[places]."""
        places = self._addresses(state, state.places)[:, nodes.first : nodes.last]

        def read():
            out.reshape(places.shape)[...] = state.buffer[places]

        return read

    def bind_write(self, state: State, nodes: NodeRange, rows):
        """buffer[places] = rows."""
        places = self._addresses(state, state.places)[:, nodes.first : nodes.last]

        def write():
            state.buffer[places] = rows.reshape(places.shape)

        return write

    def view(self, array, first, last):
        """A slice."""
        return array[first:last]

    def bind_copy(self, source, target):
        """target = source."""
        return lambda: np.copyto(target, source)

    def bind_gather(self, buffer, addresses, packed):
        """packed = buffer[addresses]."""

        def gather():
            packed[...] = buffer[addresses]

        return gather

    def bind_scatter(self, packed, buffer, addresses):
        """buffer[addresses] = packed."""

        def scatter():
            buffer[addresses] = packed

        return scatter

    def finish_edge(self):
        """One thing after the other."""

    def _addresses(self, state: State, places):
        """(Q, n) flat addresses of some places."""
        rows = all_addresses([max(place, 0) for place in places], self.lattice.q, state.n_nodes)
        for q, place in enumerate(places):
            if is_entry(place):
                rows[q] = state.table[entry(place), : state.n_nodes]
        return rows

    def _macroscopic(self, macroscopic, state: State, nodes: NodeRange, parameters):
        places = self._addresses(state, state.places)[:, nodes.first : nodes.last]
        n = np.arange(nodes.first, nodes.last)
        f = self._loaded(state.buffer[places])
        return macroscopic.reference(f, n, self.lattice, self._in_lattice_units(parameters))

    def _in_lattice_units(self, parameters):
        """The force comes in stored units."""
        unit = self.precision.unit
        return parameters if unit == 1.0 else (*parameters[:-3], *(component / unit for component in parameters[-3:]))

    def _loaded(self, stored):
        """From storage to lattice units."""
        return stored if self.precision.unit == 1.0 else stored.astype(np.float64) / self.precision.unit

    def _stored(self, f):
        """From lattice units to storage."""
        return f if self.precision.unit == 1.0 else (f * self.precision.unit).astype(self.precision.storage)

    def _count(self, array):
        self.allocated_bytes += array.nbytes
        weakref.finalize(array, self._forget, array.nbytes)
        return array

    def _forget(self, n_bytes):
        self.allocated_bytes -= n_bytes
