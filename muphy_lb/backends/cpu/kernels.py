"""Binding of the CPU kernels; for their arguments see :meth:`muphy_lb.backends.interface.Backend.bind`."""

import numpy as np

from muphy_lb.backends import arrays as records
from muphy_lb.backends.arrays import NodeRange, State
from muphy_lb.backends.cpu import boundary_skeletons, skeletons, stage_skeletons
from muphy_lb.backends.cpu.skeletons import bound, on_threads
from muphy_lb.backends.interface import kernels_of
from muphy_lb.backends.numpy.kernels import KERNELS as NUMPY_KERNELS
from muphy_lb.backends.numpy.kernels import sending
from muphy_lb.domain import WARP, Crossing

# Larger buffers do not fit into the caches and are written with non-temporal stores.
CACHED_BYTES = 1 << 24
# In the place of a choice of nodes where there is none.
EVERYWHERE = records.Chosen(np.zeros(0, np.uint8), 0)
# Masks of the populations of a node.
ALL_POPULATIONS, ALL_BUT_REST = np.uint32(0xFFFFFFFF), np.uint32(0xFFFFFFFE)


def stream_collide(backend, collide, arrays: records.StreamArrays, nodes: NodeRange, values, shape=None, behind=None):
    """Vectorised over warps of nodes; a warp without fluid is left out. A field is advanced by a kernel of its own."""
    streams = arrays.pattern.stores_locally and arrays.new.nbytes * backend.enlarged > CACHED_BYTES
    options = backend.lattice, backend.precision, streams, arrays.occupied is not None
    skeleton = skeletons.stream_collide(collide, arrays.pattern, *options)
    warps = nodes.first // WARP, -(-nodes.last // WARP)
    fluid = () if arrays.occupied is None else (arrays.occupied.array,)
    arguments = (arrays.old, arrays.new, *arrays.table, *warps, values, fluid)
    collide_all = on_threads(nodes.last - nodes.first, bound(skeleton, *arguments))
    if behind is None:
        return collide_all
    finish = advance(backend, behind.update, behind.arrays, nodes, behind.values)

    def launch():
        collide_all()
        finish()

    return launch


def advance(backend, update, arrays: records.StencilArrays, nodes: NodeRange, values):
    """Vectorised over warps of nodes."""
    how = arrays.n_neighbours, arrays.row > 0, nodes.where is not None, backend.lattice, backend.precision
    skeleton = skeletons.advance(update, *how)
    arguments = (arrays.old, arrays.new, *arrays.table, *_chosen(nodes), arrays.row, values)
    return on_threads(nodes.last - nodes.first, bound(skeleton, *arguments))


def at_nodes(backend, update, access: records.NodeAccess, nodes: NodeRange, values, collision=None):
    """Parallel over nodes, which collide later."""
    step, stored, table = access.arriving, access.stored, access.neighbours
    tables = (step.old, *step.table) if step else ()
    tables += (stored.buffer, *stored.table) if stored else ()
    tables += (table.addresses,) if table else ()
    locations = step and step.pattern.load, access.changes, stored and stored.locations
    how = table.n_neighbours if table else 0, backend.lattice, backend.precision, nodes.where is not None
    skeleton = stage_skeletons.at_nodes(update, *locations, *how)
    arguments = (tables, *_chosen(nodes), values)
    return on_threads(nodes.last - nodes.first, bound(skeleton, *arguments))


def refill(backend, operators, state: State, table, sources: records.Chosen, others, nodes: NodeRange, values):
    """Parallel over nodes."""
    (first, moments), where = others, (state.locations, table.n_neighbours)
    skeleton = stage_skeletons.refill(operators, *where, backend.lattice, backend.precision)
    known = sources.array, sources.mask, first
    arguments = (state.buffer, *state.table, table.addresses, *_chosen(nodes), known, moments, values)
    return on_threads(nodes.last - nodes.first, bound(skeleton, *arguments))


def _chosen(nodes: NodeRange) -> tuple:
    """Bounds of a range, and the array and the mask that choose nodes in it."""
    where = nodes.where or EVERYWHERE
    return nodes.first, nodes.last, where.array, where.mask


def extrapolation(backend, field, target, stencils: records.ExtrapolationArrays, queue):
    """Parallel over values."""
    return on_threads(target.size, bound(skeletons.extrapolation, field, target, stencils))


def saturation(backend, field, target, walls: records.SaturationArrays, queue):
    """Parallel over values."""
    skeleton = skeletons.saturation(backend.precision)
    return on_threads(walls.place.size, bound(skeleton, field, target, walls))


def outflow(backend, field, value, target, links: records.OutflowArrays, queue):
    """Parallel over values."""
    return on_threads(links.place.size, bound(skeletons.outflow, field, value, target, links))


def links(backend, operators, buffers: records.LinkBuffers, links: records.LinkArrays, values):
    """Serial over links."""
    skeleton = boundary_skeletons.links(*operators, backend.lattice, backend.precision)
    return bound(skeleton, *buffers, links, values)


def link_fluxes(backend, operators, buffers: records.LinkBuffers, links: records.LinkArrays, fluxes, values):
    """Serial over links."""
    skeleton = boundary_skeletons.link_fluxes(operators, backend.lattice, backend.precision, buffers.entering is None)
    entering = buffers.leaving if buffers.entering is None else buffers.entering
    return bound(skeleton, buffers.state, buffers.leaving, entering, links, *fluxes, values)


def walls(backend, rule, buffer, walls: records.WallArrays, crossing: Crossing):
    """Vectorised over warps of nodes at walls. Where the walls need not keep the mass, populations at rest are computed
    all the same, but not stored: a further kernel without them would have to be compiled, too."""
    skeleton = boundary_skeletons.walls(rule, backend.lattice, backend.precision, walls.d.size > 0)
    leaves_at, arrives_at = (np.array(locations) for locations in crossing)
    stored = ALL_POPULATIONS
    if walls.along_walls.size == 0:
        stored, walls = ALL_BUT_REST, walls._replace(along_walls=walls.into_walls)
    return on_threads(walls.rest.size, bound(skeleton, buffer, walls, leaves_at, arrives_at, stored))


def moments(backend, macroscopic, state: State, nodes: NodeRange, out, values):
    """Vectorised over warps of nodes."""
    rows = out.reshape(-1, nodes.last - nodes.first)
    skeleton = skeletons.moments(macroscopic, len(rows), state.locations, backend.lattice, backend.precision)
    arguments = (state.buffer, *state.table, nodes.first, nodes.last, rows, values)
    return bound(skeleton, *arguments)


def reduction(backend, macroscopic, state: State, occupied, result: records.ReductionArrays, values):
    """One partial result per chunk of nodes."""
    skeleton = skeletons.reduction(macroscopic, state.locations, backend.lattice, backend.precision)
    arguments = (state.buffer, *state.table, state.n_nodes, result, values)
    return on_threads(state.n_nodes, bound(skeleton, *arguments))


def sums(backend, operators, state: State, occupied, result: records.SumArrays, values):
    """One partial result per chunk of nodes."""
    counts = len(result.whole), len(result.peak) - 1
    skeleton = skeletons.sums(operators, counts, state.locations, backend.lattice, backend.precision)
    arguments = (state.buffer, *state.table, state.n_nodes, result, *values)
    return on_threads(state.n_nodes, bound(skeleton, *arguments))


def read(backend, state: State, nodes: NodeRange, out):
    """Vectorised over warps of nodes."""
    skeleton = skeletons.read(state.locations, backend.lattice.q, backend.precision.real)
    arguments = (state.buffer, *state.table, nodes.first, nodes.last, out.reshape(backend.lattice.q, -1))
    return bound(skeleton, *arguments)


def write(backend, state: State, nodes: NodeRange, rows):
    """Vectorised over warps of nodes."""
    skeleton = skeletons.write(state.locations, backend.lattice.q, backend.precision.real)
    arguments = (state.buffer, *state.table, nodes.first, nodes.last, rows.reshape(backend.lattice.q, -1))
    return bound(skeleton, *arguments)


def next_row(backend, schedule: records.ScheduleArrays, now, queue):
    """Copy of one row of the schedule."""
    return bound(boundary_skeletons.next_row, *schedule, now)


def profile(backend, momentum, links, weights, values, queue):
    """Serial over links."""
    return bound(boundary_skeletons.profile, momentum, links, weights, values)


def sum_openings(backend, fluxes, links: records.LinkArrays, sums, scale: float):
    """Serial over links."""
    return bound(boundary_skeletons.sum_openings, fluxes, links.weight, links.opening, sums, scale)


def feedback(backend, advance, arrays: records.FeedbackArrays, values):
    """Serial; one opening."""
    skeleton = boundary_skeletons.feedback(advance, backend.lattice)
    return bound(skeleton, *arrays, values)


def particles(backend, update, particles: records.ParticleArrays, capacity: int, values):
    """Serial over particles."""
    skeleton = boundary_skeletons.particles(update, backend.lattice, backend.precision)
    return bound(skeleton, particles.count, values)


def send_particles(
    backend, update, particles, migration: records.MigrationArrays, lookup: records.LookupArrays, values
):
    """Update all, serially; then as NumPy does."""
    skeleton = boundary_skeletons.settling(update, backend.lattice, backend.precision)

    def move_all():
        nodes = np.empty(particles.count[0], np.int32)
        skeleton(nodes, values)
        return nodes

    return sending(move_all, particles, migration, lookup)


def by_id(backend, update, count: int, values):
    """Serial over numbers."""
    skeleton = boundary_skeletons.over_range(update, backend.lattice, backend.precision)
    return bound(skeleton, 0, count, values)


def arriving(backend, macroscopic, arrays: records.StreamArrays, nodes: NodeRange, out, values):
    """Parallel over nodes."""
    is_chosen = nodes.where is not None
    skeleton = skeletons.arriving(macroscopic, arrays.pattern.load, backend.lattice, backend.precision, is_chosen)
    arguments = (arrays.old, *arrays.table, *_chosen(nodes), out, values)
    return on_threads(nodes.last - nodes.first, bound(skeleton, *arguments))


def drag(backend, operators, particles: records.ParticleArrays, capacity: int, arrays: records.DragArrays, values):
    """Serial over particles. Velocities that are not known are first taken of whole warps with marked nodes, in vectors
    and on all threads."""
    (macroscopic, *others), coupling, lattice = operators, arrays.coupling, backend.lattice
    ahead, marks, mask = (particles, capacity, arrays.lookup), arrays.marks, arrays.mask
    mark = stage_skeletons.mark(lattice.dimension, coupling.nearest)
    skeleton = stage_skeletons.drag(*others, coupling, lattice, backend.precision)
    marked = NodeRange(0, marks.size, where=records.Chosen(marks, mask))
    take_velocities = arriving(backend, macroscopic, arrays.step, marked, arrays.flow, values[0])

    def exchange():
        mark(*ahead, marks, mask)
        if not coupling.takes_field:
            take_velocities()
        skeleton(*ahead, arrays.flow, arrays.pushed, values[1:])

    return exchange


KERNELS = kernels_of({**NUMPY_KERNELS, **vars()})
