"""The specification: every kernel in a line or two of NumPy, calling the operators' vectorised references. It reads the
uncompressed table, and computes in double precision and lattice units whatever the storage format."""

import time

import numpy as np

from muphy_lb.backends.arrays import NodeRange, State
from muphy_lb.backends.interface import AllocatedBytes, KernelTable
from muphy_lb.backends.numpy.kernels import KERNELS
from muphy_lb.domain import all_addresses, entry, is_entry


class NumpyBackend(KernelTable):
    """See :class:`muphy_lb.backends.interface.Backend`. Simple and slow; the reference for the others."""

    name = "numpy"
    device = "CPU (NumPy specification)"
    makes_lists = False
    has_bulk_queue = False
    on_host = True
    kernels = KERNELS

    def __init__(self, lattice, precision):
        self.lattice = lattice
        self.precision = precision
        self._allocated = AllocatedBytes()

    @property
    def allocated_bytes(self):
        """Bytes of all arrays that live."""
        return self._allocated.total

    def array(self, host):
        """Copy of a host array."""
        return self._count(np.array(host))

    def array_of_rows(self, host):
        """Row after row."""
        return self.array(host.reshape(-1))

    def zeros(self, size, dtype):
        """Array of zeros."""
        return self._count(np.zeros(size, dtype))

    def host_buffer(self, size, dtype):
        """Host array of zeros."""
        return np.zeros(size, dtype)

    def to_host(self, array):
        """Copy of an array."""
        return array.copy()

    def update(self, array, host):
        """Overwrite an array."""
        array[...] = host

    def synchronise(self):
        """Return at once: every call is complete when it returns."""

    def record_interior(self):
        """Return at once: every call is complete when it returns."""

    edge_waits_for_interior = interior_waits_for_edge = openings_wait_for_edge = edge_waits_for_openings = (
        record_interior
    )

    def record(self, launches, queue=None):
        """A function that runs the launches one after the other."""

        def run():
            for launch in launches:
                launch()

        return run

    def stamp(self, queue):
        """The current time, as everything launched before is complete."""
        return time.perf_counter()

    def seconds_between(self, first, second):
        """Difference of two stamps [s]."""
        return second - first

    def reduction_workers(self, n_nodes):
        """A single worker."""
        return 1

    def stream_table(self, addresses, phase):
        """The uncompressed table."""
        return self.array(addresses.plain(phase))

    def neighbour_table(self, neighbours):
        """The uncompressed table."""
        return self.array(neighbours.plain())

    def launch_shapes(self, pattern):
        """A single shape, which is not specified."""
        return (None,)

    def stream_collide_usage(self, collide, arrays, shape=None, behind=None):
        """None: there is no compiled kernel."""
        return None

    def view(self, array, first, last):
        """Slice of an array."""
        return array[first:last]

    def copy(self, source, target):
        """target = source."""
        return lambda: np.copyto(target, source)

    def finish_edge(self):
        """Return at once: every call is complete when it returns."""

    def addresses(self, state: State, locations) -> np.ndarray:
        """(Q, n) flat addresses of the populations of all nodes, at locations as in
        :class:`muphy_lb.domain.Pattern`."""
        rows = all_addresses([max(location, 0) for location in locations], self.lattice.q, state.n_nodes)
        for q, location in enumerate(locations):
            if is_entry(location):
                rows[q] = state.table[entry(location), : state.n_nodes]
        return rows

    def macroscopic(self, operator, state: State, nodes: NodeRange, values) -> np.ndarray:
        """(4, m) rows rho - 1, ux, uy, uz of a node range."""
        addresses = self.addresses(state, state.locations)[:, nodes.first : nodes.last]
        n = np.arange(nodes.first, nodes.last)
        f = self.loaded(state.buffer[addresses])
        return operator.reference(f, n, self.lattice, self.in_lattice_units(operator, values))

    def in_lattice_units(self, operator, values) -> dict:
        """The values of an operator's parameters by name, as its specification reads them."""
        unit = self.precision.unit
        pairs = zip(operator.parameters, values, strict=True)
        return {p.name: value / unit if p.in_stored_units and unit != 1.0 else value for p, value in pairs}

    def loaded(self, stored):
        """Populations from storage format to lattice units."""
        return stored if self.precision.unit == 1.0 else stored.astype(np.float64) / self.precision.unit

    def stored(self, f):
        """Populations from lattice units to storage format."""
        return f if self.precision.unit == 1.0 else (f * self.precision.unit).astype(self.precision.storage)

    def _count(self, array):
        self._allocated.count(array, array.nbytes)
        return array
