"""Binding of the CPU kernels; for their arguments see :meth:`muphy_lb.backends.interface.Backend.bind`."""

from types import MappingProxyType

from muphy_lb.backends.arrays import (
    ArrivingArrays,
    ExtrapolationArrays,
    FeedbackArrays,
    LinkArrays,
    LinkBuffers,
    NodeRange,
    ParticleArrays,
    ReductionArrays,
    ScheduleArrays,
    State,
    StencilArrays,
    StreamArrays,
    WallArrays,
)
from muphy_lb.backends.cpu import boundary_skeletons, skeletons
from muphy_lb.backends.cpu.threads import on_threads
from muphy_lb.backends.numpy.kernels import KERNELS as NUMPY_KERNELS
from muphy_lb.domain import WARP

# Larger buffers do not fit into the caches and are written with non-temporal stores.
CACHED_BYTES = 1 << 24


def stream_collide(backend, collide, arrays: StreamArrays, nodes: NodeRange, values, shape=None):
    """Vectorised over warps of nodes."""
    streams = arrays.pattern.stores_locally and arrays.new.nbytes > CACHED_BYTES
    skeleton = skeletons.stream_collide(collide, arrays.pattern, backend.lattice, backend.precision, streams)
    warps = nodes.first // WARP, -(-nodes.last // WARP)
    arguments = (arrays.old, arrays.new, *arrays.table, *warps, values)
    return on_threads(nodes.last - nodes.first, lambda: skeleton(*arguments))


def stencil(backend, update, arrays: StencilArrays, nodes: NodeRange, values):
    """Vectorised over warps of nodes."""
    skeleton = skeletons.stencil(update, arrays.n_neighbours, backend.lattice, backend.precision)
    arguments = (arrays.old, arrays.new, *arrays.table, nodes.first, nodes.last, values)
    return on_threads(nodes.last - nodes.first, lambda: skeleton(*arguments))


def scalar_streaming(backend, update, arrays: StencilArrays, nodes: NodeRange, values):
    """Vectorised over warps of nodes."""
    skeleton = skeletons.scalar_streaming(update, arrays.n_neighbours, backend.lattice, backend.precision)
    arguments = (arrays.old, arrays.new, *arrays.table, nodes.first, nodes.last, arrays.row, values)
    return on_threads(nodes.last - nodes.first, lambda: skeleton(*arguments))


def neighbours(backend, update, table, n_neighbours: int, nodes: NodeRange, values):
    """Parallel over nodes."""
    skeleton = skeletons.neighbours(update, n_neighbours, backend.lattice, backend.precision)
    arguments = (*table, nodes.first, nodes.last, values)
    return on_threads(nodes.last - nodes.first, lambda: skeleton(*arguments))


def extrapolation(backend, field, target, stencils: ExtrapolationArrays, queue):
    """Parallel over values."""
    return on_threads(target.size, lambda: skeletons.extrapolation(field, target, stencils))


def links(backend, operators, buffers: LinkBuffers, links: LinkArrays, values):
    """Serial over links."""
    skeleton = boundary_skeletons.links(*operators, backend.lattice, backend.precision)
    return lambda: skeleton(*buffers, links, values)


def link_fluxes(backend, operators, buffers: LinkBuffers, links: LinkArrays, fluxes, values):
    """Serial over links."""
    skeleton = boundary_skeletons.link_fluxes(*operators, backend.lattice, backend.precision, buffers.entering is None)
    entering = buffers.leaving if buffers.entering is None else buffers.entering
    return lambda: skeleton(buffers.state, buffers.leaving, entering, links, *fluxes, values)


def walls(backend, rule, buffer, target, links: WallArrays):
    """Parallel over links."""
    skeleton = boundary_skeletons.walls(rule, backend.lattice, backend.precision)
    return on_threads(links.wall.size, lambda: skeleton(buffer, target, links))


def moments(backend, macroscopic, state: State, nodes: NodeRange, out, values):
    """Vectorised over warps of nodes."""
    skeleton = skeletons.moments(macroscopic, state.locations, backend.lattice, backend.precision)
    arguments = (state.buffer, *state.table, nodes.first, nodes.last, out.reshape(4, -1), values)
    return lambda: skeleton(*arguments)


def reduction(backend, macroscopic, state: State, result: ReductionArrays, values):
    """One partial result per chunk of nodes."""
    skeleton = skeletons.reduction(macroscopic, state.locations, backend.lattice, backend.precision)
    arguments = (state.buffer, *state.table, state.n_nodes, result, values)
    return on_threads(state.n_nodes, lambda: skeleton(*arguments))


def read(backend, state: State, nodes: NodeRange, out):
    """Vectorised over warps of nodes."""
    skeleton = skeletons.read(state.locations, backend.lattice.q, backend.precision.real)
    arguments = (state.buffer, *state.table, nodes.first, nodes.last, out.reshape(backend.lattice.q, -1))
    return lambda: skeleton(*arguments)


def write(backend, state: State, nodes: NodeRange, rows):
    """Vectorised over warps of nodes."""
    skeleton = skeletons.write(state.locations, backend.lattice.q, backend.precision.real)
    arguments = (state.buffer, *state.table, nodes.first, nodes.last, rows.reshape(backend.lattice.q, -1))
    return lambda: skeleton(*arguments)


def next_row(backend, schedule: ScheduleArrays, now, queue):
    """Copy of one row of the schedule."""
    return lambda: boundary_skeletons.next_row(*schedule, now)


def sum_openings(backend, fluxes, opening, sums, scale: float):
    """Serial over links."""
    return lambda: boundary_skeletons.sum_openings(fluxes, opening, sums, scale)


def feedback(backend, advance, arrays: FeedbackArrays, values):
    """Serial; one opening."""
    skeleton = boundary_skeletons.feedback(advance, backend.lattice)
    return lambda: skeleton(*arrays, values)


def particles(backend, update, particles: ParticleArrays, capacity: int, values):
    """Serial over particles."""
    skeleton = boundary_skeletons.particles(update, backend.lattice, backend.precision)
    return lambda: skeleton(particles.count, values)


def each(backend, update, nodes: NodeRange, values):
    """Serial over nodes."""
    skeleton = boundary_skeletons.over_range(update, backend.lattice, backend.precision)
    return lambda: skeleton(nodes.first, nodes.last, values)


def by_id(backend, update, count: int, values):
    """Serial over numbers."""
    skeleton = boundary_skeletons.over_range(update, backend.lattice, backend.precision)
    return lambda: skeleton(0, count, values)


def arriving(backend, macroscopic, arrays: StreamArrays, nodes: NodeRange, target: ArrivingArrays, values):
    """Parallel over nodes."""
    skeleton = skeletons.arriving(macroscopic, arrays.pattern.load, backend.lattice, backend.precision)
    arguments = (arrays.old, *arrays.table, nodes.first, nodes.last, *target, values)
    return on_threads(nodes.last - nodes.first, lambda: skeleton(*arguments))


KERNELS = MappingProxyType(
    {
        **NUMPY_KERNELS,
        **{
            kernel.__name__: kernel
            for kernel in (
                stream_collide,
                stencil,
                scalar_streaming,
                neighbours,
                extrapolation,
                links,
                link_fluxes,
                walls,
                moments,
                reduction,
                read,
                write,
                next_row,
                sum_openings,
                feedback,
                particles,
                each,
                by_id,
                arriving,
            )
        },
    }
)
