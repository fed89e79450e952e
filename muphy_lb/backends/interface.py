"""The interface of every backend: memory, and kernels bound to arrays.

A skeleton contains the loop over nodes or links and calls the node functions that a model injects; compiled, it is a
kernel. Binding a kernel returns a callable without arguments, so that a time step is a list of calls without further
look-ups. Kernels are registered by name behind one ``bind``.
"""

import inspect
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from muphy_lb.backends.arrays import Advanced, StreamArrays
from muphy_lb.base.errors import BackendError
from muphy_lb.base.precision import Precision
from muphy_lb.domain import AddressTable, NodeNeighbours, Pattern
from muphy_lb.operators import Operator


class AllocatedBytes:
    """Counts arrays for as long as they live. It does not know the backend: what is to be called when an array is gone
    stays alive until then, and with it an array that the backend keeps would keep the backend."""

    def __init__(self):
        self.total = 0

    def count(self, array, n_bytes: int) -> None:
        """Count the bytes of an array until it is gone."""
        self.total += n_bytes
        weakref.finalize(array, self._forget, n_bytes)

    def _forget(self, n_bytes: int) -> None:
        self.total -= n_bytes


Launch = Callable[[], None]


@dataclass(frozen=True)
class KernelUsage:
    """Resources of one thread of a compiled kernel: ``registers``, and ``local_bytes`` of memory for spilled values."""

    registers: int
    local_bytes: int


class Backend(Protocol):
    """One device: its memory and its kernels. Buffers of populations are in storage format and stored units
    (:class:`muphy_lb.base.precision.Precision`); all other numbers are in lattice units."""

    name: str  #: ``"numpy"``, ``"cpu"`` or ``"cuda"``
    device: str  #: name of the device
    makes_lists: bool  #: whether it is faster to list chosen nodes than to look for them in every kernel
    has_bulk_queue: bool  #: whether the bulk of a model in two parts may collide beside other stages
    on_host: bool  #: whether device arrays are host arrays, ready as soon as a call returns
    precision: Precision  #: number formats
    allocated_bytes: int  #: size of all live device arrays

    def array(self, host: np.ndarray) -> Any:
        """Device copy of a host array."""

    def array_of_rows(self, host: np.ndarray) -> Any:
        """Device copy of (K, M) numbers of nodes as one row, in the order in which the kernels run through them: row
        after row where threads of consecutive nodes run side by side, or warp after warp; M is a multiple of WARP."""

    def zeros(self, size: int, dtype) -> Any:
        """Device array of zeros."""

    def to_host(self, array) -> np.ndarray:
        """Host copy of a device array, after everything launched before."""

    def update(self, array, host: np.ndarray) -> None:
        """Overwrite a device array."""

    def synchronise(self) -> None:
        """Wait for everything launched before."""

    def release(self) -> None:
        """Give the device's memory of arrays that are gone back at once."""

    def record_interior(self) -> None:
        """Record an event on the interior's queue; the edge runs concurrently."""

    def edge_waits_for_interior(self) -> None:
        """Make the edge wait for the recorded event."""

    def interior_waits_for_edge(self) -> None:
        """Make the interior wait for all work enqueued on the edge so far."""

    def openings_wait_for_edge(self) -> None:
        """Make the openings wait for all work enqueued on the edge so far."""

    def edge_waits_for_openings(self) -> None:
        """Make the edge wait for all work enqueued on the openings so far."""

    def bulk_waits_for_interior(self) -> None:
        """Make the bulk wait for all work enqueued on the interior so far; only with a queue for the bulk."""

    def interior_waits_for_bulk(self) -> None:
        """Make the interior wait for all work enqueued on the bulk so far."""

    def record(self, launches: list[Launch], queue: str | None = None) -> Launch:
        """Record launches, in order, as a single one; each must have run once already, and none may block on the host.
        They belong to ``queue`` (``muphy_lb.parallel.task``); without it to any queues, after all work enqueued before.
        """

    def stamp(self, queue: str) -> Any:
        """Record the time at which a queue reaches this point."""

    def seconds_between(self, first, second) -> float:
        """Time [s] between two stamps that have been reached."""

    def reduction_workers(self, n_nodes: int) -> int:
        """Number of partial results of the kernels ``reduction`` and ``sums``."""

    def stream_table(self, addresses: AddressTable, phase: int) -> Any:
        """Device form of the address table of a phase."""

    def neighbour_table(self, neighbours: NodeNeighbours) -> Any:
        """Device form of the table of the neighbours of every node."""

    def launch_shapes(self, pattern: Pattern) -> tuple:
        """Launch configurations of stream-and-collide on this device, the likely fastest first; all give the same
        bits."""

    def bind(self, kernel: str, *arguments, **options) -> Launch:
        """Bind a kernel, given by name, to its arguments.

        Kernels that every backend has, and their arguments; ``values`` are those of the operator's parameters, in its
        order; ``at_nodes`` and ``refill`` leave out nodes of their range that are not chosen:

        stream_collide(collide, arrays: StreamArrays, nodes: NodeRange, values, shape=None, behind: Advanced = None)
            Stream and collide a node range; ``shape`` is one of :meth:`launch_shapes`, by default the first. Nodes
            without fluid need not be advanced; what is stored for them is not specified. Devices with a queue for the
            bulk advance no others than those of ``arrays.occupied``. ``behind``: a field that the nodes advance then,
            as by ``advance``; in one kernel where that is faster.
        advance(update, arrays: StencilArrays, nodes, values)
            new[n] = update(old[n] and old at its neighbours, n). Of a field with several components the update
            overwrites the populations that arrive, and component q goes to new[q row + n].
        at_nodes(update, access: NodeAccess, nodes, values, collision=None)
            ``update(arriving, stored, neighbours, n, values)`` with those of the first three that ``access`` has:
            populations, and the addresses of the node's neighbours in arrays of fields; it writes to fields among the
            values. It may change arriving populations, and returns the mask of those that it has changed. With
            ``collision``, an operator and its values, the nodes collide then, into the other buffer; only of devices
            with a queue for the bulk.
        refill(operators, state: State, table: NeighbourTable, sources: Chosen, others, nodes, values)
            ``update(f, moments, n, values)`` computes the populations of a node from the mean moments of those of its
            neighbours that are ``sources``; the operators are that and the one of moments, the values those of both.
            ``others``: the address of the first node of another rank in fields, and (4 n_ghosts,) moments of these.
        extrapolation(field, target, stencils: ExtrapolationArrays, queue)
            target = constant + sum of weight * field[index].
        saturation(field, target, walls: SaturationArrays, queue)
            target[place] = field[left] less what is taken up, from the sums that are there.
        outflow(field, value, target, links: OutflowArrays, queue)
            target[place] = field[left] + value[node] times the sum that is there.
        links(operators, buffers: LinkBuffers, links: LinkArrays, values)
            Compute the incoming population of every opening link from the outgoing one, on the queue of the openings.
            The operators are those of openings and of their nodes
            (:func:`muphy_lb.operators.at_openings`), the values those of the latter.
        link_fluxes(operators, buffers: LinkBuffers, links: LinkArrays, fluxes, values)
            Mass that enters through every opening link, and density deviation of the plane there, into the two float64
            arrays ``fluxes``; the incoming population is read, or computed as by ``links``. The operators are those of
            ``links``, and that of the density.
        walls(rule, buffer, walls: WallArrays, crossing: Crossing)
            Compute what arrives through the links of nodes at linkwise walls, and with exchanges what their
            populations at rest gain, once a step.
        moments(macroscopic, state: State, nodes, out, values)
            Write rho - 1, ux, uy, uz of a node range into the four rows of ``out``, each as long as the range.
        reduction(macroscopic, state: State, occupied: Chosen | None, result: ReductionArrays, values)
            Fill the partial results of mass, largest speed and exact sums of speed and velocity. The moments need no
            populations of nodes that are not ``occupied``.
        sums(operators, state: State, occupied: Chosen | None, result: SumArrays, values)
            ``measure(n, deviation, ux, uy, uz, values, found)`` at every node, which writes to ``found`` K numbers that
            are summed and P of which the largest counts; partial results are added to those in ``result``. The
            operators are that and the one of moments, the values those of both; of nodes that are not ``occupied`` the
            moments say nothing.
        read(state: State, nodes, out), write(state: State, nodes, rows)
            Copy the populations of a node range, as stored, into the Q rows of ``out``, each as long as the range; and
            the inverse.
        next_row(schedule: ScheduleArrays, now, queue)
            Copy the next row of the schedule, or the last one again, to ``now``.
        profile(momentum, links, weights, values, queue)
            momentum[links] = sum over c of values[c] times the row c of ``weights``, (C, links), flat.
        count_step(step, queue)
            Add one to the step number.
        gather(buffer, addresses, packed), scatter(packed, buffer, addresses), scatter_add(packed, buffer, addresses)
            packed = buffer[addresses]; buffer[addresses] = packed; buffer[addresses] += packed in integers;
            addresses may repeat. All on the edge's queue.
        particles(update, particles: ParticleArrays, capacity, values)
            ``update(i, values)`` for every particle.
        collect(nodes, target: Collected, counters)
            List the chosen nodes of a range, and the warps with nodes at which the array by which they are chosen is
            not 0; ``counters``: (3,) int32, 0 before and after. Only of devices that make lists.
        by_id(update, count, values)
            ``update(i, values)`` for i = 0, ..., count - 1.
        arriving(macroscopic, arrays: StreamArrays, nodes, out, values)
            Velocity of the populations that a step with these arrays will load, at the nodes of a range, in a vector
            field; if some are chosen, others may be written, too.
        drag(operators, particles: ParticleArrays, capacity, arrays: DragArrays, values)
            Forces between particles and nodes around them, see :class:`muphy_lb.model.model.ParticleSet`; three
            operators and their values.
        send_particles(update, particles: ParticleArrays, migration: MigrationArrays, lookup, values)
            ``update(i, values)`` for every particle; then wrap offsets into their range, pack the particles whose nodes
            belong to other ranks, and close the gaps.
        receive_particles(particles: ParticleArrays, migration: MigrationArrays, capacity)
            Append the particles that were received.
        sum_openings(fluxes, links: LinkArrays, sums, scale)
            Sum (2, L) fluxes, deviations times weights, and weights by the number of each link's opening, exactly, in
            fixed point.
        feedback(advance, arrays: FeedbackArrays, values)
            Advance the state of a condition with its opening's sums over all ranks, and set its value.

        Raises BackendError: this backend has no such kernel.
        """

    def copy(self, source, target) -> Launch:
        """Launch that copies an array on the device, on the interior's queue."""

    def view(self, array, first: int, last: int) -> Any:
        """Elements ``[first, last)`` of a device array, without a copy."""

    def stream_collide_usage(
        self, collide: Operator, arrays: StreamArrays, shape=None, behind: Advanced | None = None
    ) -> KernelUsage | None:
        """Resources of the compiled stream-and-collide kernel; None where they are not known."""

    def finish_edge(self) -> None:
        """Wait for all work enqueued on the edge."""


def kernels_of(module: Mapping[str, Any]) -> Mapping[str, Callable]:
    """The kernels that the names of a module bind: its public functions whose first argument is ``backend``."""
    functions = {name: each for name, each in module.items() if inspect.isfunction(each) and not name.startswith("_")}
    return MappingProxyType({name: f for name, f in functions.items() if f.__code__.co_varnames[:1] == ("backend",)})


class KernelTable:
    """Base class of a backend: its kernels by name."""

    name: str  #: of the backend
    kernels: Mapping[str, Callable]  #: by name, ``make(backend, *arguments, **options) -> Launch``
    enlarged = 1  #: how many times as large buffers will be as those that kernels are bound to, in a rehearsal

    def bind(self, kernel: str, *arguments, **options) -> Launch:
        """See :meth:`muphy_lb.backends.interface.Backend.bind`."""
        if kernel not in self.kernels:
            known = ", ".join(sorted(self.kernels))
            raise BackendError(f"backend {self.name!r} has no kernel {kernel!r}; it has: {known}")
        return self.kernels[kernel](self, *arguments, **options)

    def release(self) -> None:
        """See :meth:`muphy_lb.backends.interface.Backend.release`."""
