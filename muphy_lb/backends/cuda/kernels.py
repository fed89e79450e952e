"""Binding of the GPU kernels; for their arguments see :meth:`muphy_lb.backends.interface.Backend.bind`."""

from typing import Any

import numpy as np

from muphy_lb.backends import arrays as records
from muphy_lb.backends.arrays import NodeRange, State
from muphy_lb.backends.cuda import boundary_skeletons, particle_skeletons, skeletons, stage_skeletons
from muphy_lb.backends.cuda.access import populations_arriving, populations_of
from muphy_lb.backends.cuda.skeletons import NODES_PER_THREAD, PAIRED, SINGLE, Advance, Shape
from muphy_lb.backends.cuda.stage_skeletons import LISTED_BLOCK, Candidates, Flags
from muphy_lb.backends.interface import kernels_of
from muphy_lb.domain import Crossing
from muphy_lb.domain.lookup import LAYER, n_corners
from muphy_lb.lattice.layout import WARP, whole
from muphy_lb.parallel.task import ON_EDGE, ON_OPENINGS

PARTICLE_BLOCK = 128  # their operators need many registers, of which smaller blocks leave fewer unused
DRAG_THREADS = 1 << 23  # for a million particles; a rank may have room for many more than it has


def particles(backend, update, particles: records.ParticleArrays, capacity: int, values):
    """One thread per particle of the capacity."""
    kernel = particle_skeletons.particles(update, backend.lattice, backend.precision)
    return backend.launch(kernel, capacity, (particles.count, values), block=PARTICLE_BLOCK)


def by_id(backend, update, count: int, values):
    """One thread per number."""
    kernel = particle_skeletons.over_range(update, backend.lattice, backend.precision)
    return backend.launch(kernel, count, (0, count, values))


def drag(backend, operators, particles: records.ParticleArrays, capacity: int, arrays: records.DragArrays, values):
    """Blocks of as many particles as they have threads for the nodes of each."""
    table, coupling, block = arrays.step.table, arrays.coupling, particle_skeletons.DRAG_BLOCK
    how = coupling, backend.lattice, backend.precision
    kernel = particle_skeletons.drag(operators, populations_arriving(arrays.step), *how)
    fields = arrays.flow, arrays.pushed, arrays.marks, np.int8(arrays.mask)
    around = (arrays.step.old, table.lines, table.bases), arrays.lookup, fields
    arguments = (particles, capacity, around, values)
    n_threads = min(capacity * n_corners(backend.lattice.dimension, coupling.nearest), DRAG_THREADS)
    return backend.launch(kernel, n_threads, arguments, block=block)


def send_particles(
    backend, update, particles, migration: records.MigrationArrays, lookup: records.LookupArrays, values
):
    """One thread per particle of the capacity; without neighbours nothing is left to fill."""
    capacity = migration.left.size
    kernel = particle_skeletons.update_and_send(update, backend.lattice, backend.precision)
    first_remote = int(backend.to_host(lookup.size)[LAYER])
    arguments = (particles, migration, first_remote, capacity, values)
    send = backend.launch(kernel, capacity, arguments, block=PARTICLE_BLOCK)
    length, n_places = _message_length(particles, migration, capacity), migration.holes.size
    n_messages = migration.outgoing.size // length
    if not n_messages:
        return send
    names = particle_skeletons
    launches = (
        backend.launch(names.clear_counts, 1, (migration.outgoing, length, n_messages), block=32),
        send,
        backend.launch(names.match_holes, n_places, (particles.count, migration)),
        backend.launch(names.fill_holes, n_places, (particles, migration, capacity)),
        backend.launch(names.close_holes, 1, (particles.count, migration.n_moved), block=32),
    )

    def launch():
        for each in launches:
            each()

    return launch


def receive_particles(backend, particles, migration: records.MigrationArrays, capacity: int):
    """One thread per particle of the messages' capacity."""
    n_messages = migration.incoming.size // _message_length(particles, migration, capacity)
    arguments = (particles, migration, capacity)
    return backend.launch(particle_skeletons.receive_particles, n_messages * migration.most, arguments)


def sort_particles(
    backend,
    particles: records.ParticleArrays,
    lookup: records.LookupArrays,
    capacity: int,
    arrays: records.SortingArrays,
):
    """Sort particles by the entries of their voxels in the lookup: count those at each, choose places, move one column
    after the other there."""
    names, count, n_places = particle_skeletons, particles.count, arrays.counts.size
    n_threads, known = n_places // names.ENTRIES_PER_THREAD + 1, (particles, lookup, capacity, arrays)
    launches = [
        backend.launch(names.forget_counts, n_places, (arrays.counts,)),
        backend.launch(names.count_at_entries, capacity, known),
        backend.launch(names.choose_places, n_threads, (arrays,), block=names.PLACES_BLOCK),
        backend.launch(names.find_sources, capacity, known),
    ]
    for block in (particles.integers, particles.reals, particles.values):
        for first in range(0, block.size, capacity):
            column = backend.view(block, first, first + capacity)
            launches.append(backend.launch(names.to_places, capacity, (column, arrays, count)))
            launches.append(backend.launch(names.put_back, capacity, (arrays.column, column, count)))

    def launch():
        for each in launches:
            each()

    return launch


def _message_length(particles, migration: records.MigrationArrays, capacity: int) -> int:
    return 1 + sum(block.size // capacity for block in particles[:3]) * migration.most


LINK_BLOCK = WALL_BLOCK = FLUID_BLOCK = 128
LISTED_THREADS = 1 << 17
"""Threads share the nodes of a list. They are more than run at a time: a multiprocessor runs two or three blocks of
kernels with many registers, and blocks that are left over should have little to do."""
FLUID_THREADS = 1 << 21  # share the warps with fluid; more than run at a time, since a thread at work waits for memory
FILLING_BLOCKS = 1024  # of those that list nodes, as many as run at a time on a large GPU


def stream_kernel(collide, arrays: records.StreamArrays, shape: Shape, backend, behind=None):
    """The compiled stream-and-collide kernel of a launch shape; ``behind``: a field that the nodes advance."""
    index_type = arrays.table.index_type
    if arrays.occupied is not None:
        return skeletons.stream_collide_fluid(collide, arrays.pattern, backend.lattice, backend.precision, index_type)
    how = behind and _how(behind.update, behind.arrays)
    return skeletons.stream_collide(
        collide, arrays.pattern, backend.lattice, backend.precision, index_type, shape.threads, how
    )


def stream_collide(backend, collide, arrays: records.StreamArrays, nodes: NodeRange, values, shape=None, behind=None):
    """One thread per one or two nodes, or warps of nodes with fluid shared among those of threads."""
    if arrays.occupied is not None:
        block = shape.block if shape else FLUID_BLOCK
        return _stream_collide_fluid(backend, collide, arrays, nodes, values, block)
    shape = shape or backend.launch_shapes(arrays.pattern)[0]
    kernel = stream_kernel(collide, arrays, shape, backend, behind)
    if behind:
        field, table = behind.arrays, behind.arrays.table
        row = table.index_type(field.row)
        values = values, (field.old, field.new, table.lines, table.bases, row, behind.values)
    n_threads = -(-(nodes.last - nodes.first) // NODES_PER_THREAD[shape.threads])
    new = arrays.new.view(np.uint32) if shape.threads == PAIRED else arrays.new
    sweep = (-(-n_threads // shape.block) - 1, -1) if nodes.is_reversed else (0, 1)
    arguments = (arrays.old, new, arrays.table.lines, arrays.table.bases, *sweep, *_bounds(nodes), values)
    return backend.launch(kernel, n_threads, arguments, queue=nodes.queue, block=shape.block)


def _stream_collide_fluid(backend, collide, arrays: records.StreamArrays, nodes: NodeRange, values, block: int):
    kernel = stream_kernel(collide, arrays, Shape(SINGLE, block), backend)
    n_threads = min(whole(nodes.last - nodes.first, WARP), FLUID_THREADS)
    buffers, table, occupied = (arrays.old, arrays.new), arrays.table, arrays.occupied
    bounds, masks = (nodes.is_reversed, *_bounds(nodes)), (np.uint8(occupied.mask), np.uint8(occupied.without))
    among = occupied.among or backend.nothing_known
    arguments = (*buffers, table.lines, table.bases, *bounds, values, occupied.array, *masks, among)
    return backend.launch(kernel, n_threads, arguments, queue=nodes.queue, block=block)


def advance(backend, update, arrays: records.StencilArrays, nodes: NodeRange, values):
    """One thread per node."""
    table, where = arrays.table, nodes.where
    how = _how(update, arrays), where is not None
    chosen = (where.array, np.uint8(where.mask)) if where else (table.lines, np.uint8(0))
    kernel = skeletons.advance(*how, backend.lattice, backend.precision, table.index_type)
    shape = *_bounds(nodes), table.index_type(arrays.row)
    arguments = (arrays.old, arrays.new, table.lines, table.bases, *shape, *chosen, values)
    return backend.launch(kernel, nodes.last - nodes.first, arguments, queue=nodes.queue)


def _how(update, arrays: records.StencilArrays) -> Advance:
    return Advance(update, arrays.n_neighbours, arrays.row > 0)


def at_nodes(backend, update, access: records.NodeAccess, nodes: NodeRange, values, collision=None):
    """One thread per node, or nodes of the list, or of the range, shared among threads."""
    step, stored, table = access.arriving, access.stored, access.neighbours
    buffers = [each.old for each in (step,) if each] + [each.buffer for each in (stored,) if each]
    operators, arriving, tables = (update, *(collision or ())[:1]), None, list[Any](buffers[:1])
    if step:
        behind = (step.new, collision[1]) if collision else ()
        tables.append((step.table.lines, step.table.bases, *behind))
        stores_at = step.pattern.store if collision else ()
        arriving = stage_skeletons.Arriving(populations_arriving(step), access.changes, stores_at)
    if stored:
        tables.append((stored.table.lines, stored.table.bases))
    if table:
        tables.append(table.addresses)
    where = arriving, populations_of(stored) if stored else None, table.n_neighbours if table else 0
    at_node = stage_skeletons.at_node(operators, *where, backend.lattice, backend.precision)
    registers = update.registers if backend.precision.real is np.float32 else None
    return _over(backend, at_node, tuple(tables), nodes, values, registers)


def _over(backend, at, tables: tuple, nodes: NodeRange, values, registers: int | None = None):
    """Launch of a device function at the nodes of a range, or at the chosen ones."""
    where, skeletons = nodes.where, stage_skeletons
    if where is None:
        kernel, arguments = skeletons.over_range(at, registers), (tables, *_bounds(nodes), values)
        return backend.launch(kernel, nodes.last - nodes.first, arguments, queue=nodes.queue, block=LISTED_BLOCK)
    if where.among or where.array.dtype.itemsize > 1:
        return _over_chosen(backend, skeletons.over_chosen(at, registers), (tables,), nodes, (values,))
    return _over_words(backend, skeletons.over_words(at), nodes, (tables, *_in_words(backend, nodes), values))


def refill(backend, operators, state: State, table, sources: records.Chosen, others, nodes: NodeRange, values):
    """Nodes of the list, or of the range, shared among threads."""
    (first, moments), where = others, (populations_of(state), table.n_neighbours)
    kernel = stage_skeletons.refill(operators, *where, backend.lattice, backend.precision)
    known = sources.array, np.uint8(sources.mask), first
    tables = state.buffer, state.table.lines, state.table.bases, table.addresses
    return _over_chosen(backend, kernel, tables, nodes, (known, moments, values))


def collect(backend, nodes: NodeRange, target: records.Collected, counters):
    """One thread per 16 nodes of each of the portions that blocks look at; no more of these than fill the device."""
    size, most = stage_skeletons.NODES_PER_BLOCK, stage_skeletons.MOST_PORTIONS
    n_portions = min(most, -(-(nodes.last - nodes.first) // (size * FILLING_BLOCKS)))
    arguments = (Flags(*_in_words(backend, nodes)), target, counters, n_portions)
    return _over_words(backend, stage_skeletons.collect, nodes, arguments, n_portions)


def _in_words(backend, nodes: NodeRange) -> tuple:
    """The chosen nodes of a range as kernels read them that look at 16 at once: flags and mask in words of four nodes,
    and the bounds."""
    where = nodes.where
    words = backend.view(where.array, 0, where.array.size // 16 * 16).view(np.uint32)
    return words, np.uint32(where.mask * 0x01010101), *_bounds(nodes)


def _over_words(backend, kernel, nodes: NodeRange, arguments: tuple, portions: int = 1):
    """Launch with one thread per 16 nodes of a range, or per ``portions`` times as many."""
    size, block = stage_skeletons.NODES_PER_THREAD * portions, stage_skeletons.CHOOSING_BLOCK
    n_threads = -(-nodes.last // size) - nodes.first // size
    return backend.launch(kernel, n_threads, arguments, queue=nodes.queue, block=block)


def _over_chosen(backend, kernel, ahead: tuple, nodes: NodeRange, behind: tuple):
    """Launch over the chosen nodes of a range, with its candidates between other arguments."""
    where, n_threads = nodes.where, nodes.last - nodes.first
    if where.among:
        n_threads = min(n_threads, LISTED_THREADS)
    among = where.among or backend.nothing_known
    candidates = Candidates(*_bounds(nodes), among, where.array, np.uint8(where.mask))
    arguments = (*ahead, candidates, *behind)
    return backend.launch(kernel, n_threads, arguments, queue=nodes.queue, block=LISTED_BLOCK)


def extrapolation(backend, field, target, stencils: records.ExtrapolationArrays, queue):
    """One thread per value."""
    return backend.launch(skeletons.extrapolation, target.size, (field, target, *stencils), queue=queue)


def saturation(backend, field, target, walls: records.SaturationArrays, queue):
    """One thread per value."""
    kernel = skeletons.saturation(backend.precision)
    return backend.launch(kernel, walls.place.size, (field, target, *walls), queue=queue)


def outflow(backend, field, value, target, links: records.OutflowArrays, queue):
    """One thread per value."""
    return backend.launch(skeletons.outflow, links.place.size, (field, value, target, *links), queue=queue)


def links(backend, operators, buffers: records.LinkBuffers, links: records.LinkArrays, values):
    """One block per ``LINK_NODES`` nodes with openings."""
    kernel = boundary_skeletons.links(*operators, backend.lattice, backend.precision)
    n_threads = -(-links.node.size // boundary_skeletons.LINK_NODES) * LINK_BLOCK
    arguments = (*buffers, links, values)
    return backend.launch(kernel, n_threads, arguments, queue=ON_OPENINGS, block=LINK_BLOCK)


def link_fluxes(backend, operators, buffers: records.LinkBuffers, links: records.LinkArrays, fluxes, values):
    """One thread per node with openings."""
    kernel = boundary_skeletons.link_fluxes(operators, backend.lattice, backend.precision, buffers.entering is None)
    entering = buffers.leaving if buffers.entering is None else buffers.entering
    arguments = (buffers.state, buffers.leaving, entering, links, *fluxes, values)
    return backend.launch(kernel, links.node.size, arguments, queue=ON_EDGE)


def walls(backend, rule, buffer, walls: records.WallArrays, crossing: Crossing):
    """One thread per node at walls."""
    index_type = np.uint32 if walls.entry.dtype == np.uint32 else np.uint64
    kernel = boundary_skeletons.walls(rule, crossing, backend.lattice, backend.precision, index_type)
    return backend.launch(kernel, walls.rest.size, (buffer, walls), queue=ON_EDGE, block=WALL_BLOCK)


def moments(backend, macroscopic, state: State, nodes: NodeRange, out, values):
    """One thread per node."""
    count = out.size // (nodes.last - nodes.first)
    kernel = skeletons.moments(macroscopic, count, populations_of(state), backend.lattice, backend.precision)
    return backend.launch(kernel, nodes.last - nodes.first, (*_bounded(state, nodes), out, values), queue=nodes.queue)


def reduction(
    backend, macroscopic, state: State, occupied: records.Chosen | None, result: records.ReductionArrays, values
):
    """A fixed number of blocks."""
    how = occupied is not None, backend.lattice, backend.precision
    kernel, block = skeletons.reduction(macroscopic, populations_of(state), *how), skeletons.REDUCING_BLOCK
    fluid = state.buffer if occupied is None else occupied.array
    arguments = (state.buffer, *state.table[:2], fluid, state.n_nodes, result, values)
    return backend.launch(kernel, result.mass.size * block, arguments, block=block)


def sums(backend, operators, state: State, occupied: records.Chosen | None, result: records.SumArrays, values):
    """A fixed number of blocks."""
    counts, how = (len(result.whole), len(result.peak) - 1), (backend.lattice, backend.precision)
    kernel = skeletons.sums(operators, counts, populations_of(state), occupied is not None, *how)
    fluid, block = state.buffer if occupied is None else occupied.array, skeletons.REDUCING_BLOCK
    arguments = (state.buffer, *state.table[:2], fluid, state.n_nodes, result, *values)
    return backend.launch(kernel, result.whole.shape[1] * block, arguments, block=block)


def read(backend, state: State, nodes: NodeRange, out):
    """One thread per node."""
    kernel = skeletons.read(populations_of(state), backend.precision)
    return backend.launch(kernel, nodes.last - nodes.first, (*_bounded(state, nodes), out))


def write(backend, state: State, nodes: NodeRange, rows):
    """One thread per node."""
    kernel = skeletons.write(populations_of(state), backend.precision)
    return backend.launch(kernel, nodes.last - nodes.first, (*_bounded(state, nodes), rows))


def next_row(backend, schedule: records.ScheduleArrays, now, queue):
    """A single block."""
    return backend.launch(boundary_skeletons.next_row, 1, (*schedule, now), queue=queue, block=32)


def profile(backend, momentum, links, weights, values, queue):
    """One thread per link."""
    return backend.launch(boundary_skeletons.profile, links.size, (momentum, links, weights, values), queue=queue)


def sum_openings(backend, fluxes, links: records.LinkArrays, sums, scale: float):
    """Some blocks for each opening."""
    clear = backend.launch(boundary_skeletons.clear, sums.size, (sums,), queue=ON_EDGE)
    kernel, threads = boundary_skeletons.sum_openings, boundary_skeletons.SUM_THREADS
    n_blocks = sums.size // 3 * min(boundary_skeletons.SUM_BLOCKS, 1 + links.q.size // threads)
    arguments = (fluxes, links.weight, links.opening, sums, scale)
    add = backend.launch(kernel, n_blocks * threads, arguments, queue=ON_EDGE, block=threads)

    def launch():
        clear()
        add()

    return launch


def feedback(backend, advance, arrays: records.FeedbackArrays, values):
    """A single warp."""
    kernel, threads = boundary_skeletons.feedback(advance, backend.lattice), boundary_skeletons.FEEDBACK_THREADS
    return backend.launch(kernel, threads, (*arrays, values), queue=ON_EDGE, block=threads)


def arriving(backend, macroscopic, arrays: records.StreamArrays, nodes: NodeRange, out, values):
    """One thread per node; or per 16 nodes, and the threads of a block share the chosen ones among theirs."""
    found = populations_arriving(arrays), backend.lattice, backend.precision
    tables = arrays.old, arrays.table.lines, arrays.table.bases, out
    return _over(backend, stage_skeletons.velocities(macroscopic, *found), tables, nodes, values)


def count_step(backend, step, queue):
    """A single thread."""
    return backend.launch(skeletons.count_step, 1, (step,), queue=queue, block=1)


def gather(backend, buffer, addresses, packed):
    """One thread per number."""
    return backend.launch(skeletons.gather, packed.size, (buffer, addresses, packed), queue=ON_EDGE)


def scatter(backend, packed, buffer, addresses):
    """One thread per number."""
    return backend.launch(skeletons.scatter, packed.size, (packed, buffer, addresses), queue=ON_EDGE)


def scatter_add(backend, packed, buffer, addresses):
    """One thread per number."""
    return backend.launch(skeletons.scatter_add, packed.size, (packed, buffer, addresses), queue=ON_EDGE)


def _bounds(nodes: NodeRange) -> tuple[np.uint32, np.uint32]:
    """A range as kernels take it, whose numbers of nodes are unsigned."""
    return np.uint32(nodes.first), np.uint32(nodes.last)


def _bounded(state: State, nodes: NodeRange) -> tuple:
    """The leading arguments of every kernel over a range of nodes."""
    return state.buffer, state.table.lines, state.table.bases, *_bounds(nodes)


KERNELS = kernels_of(vars())
