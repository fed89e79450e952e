"""The kernels of the CPU, bound to their arguments (:meth:`muphy_lb.backends.interface.Backend.bind`)."""

from types import MappingProxyType

from muphy_lb.backends.arrays import (
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

# Buffers beyond this do not stay in the caches: what is stored there goes past them.
CACHED_BYTES = 1 << 24


def stream_collide(backend, collide, arrays: StreamArrays, nodes: NodeRange, values, shape=None):
    """A warp of nodes at a time."""
    streams = arrays.pattern.stores_locally and arrays.new.nbytes > CACHED_BYTES
    skeleton = skeletons.stream_collide(collide, arrays.pattern, backend.lattice, backend.precision, streams)
    warps = nodes.first // WARP, -(-nodes.last // WARP)
    arguments = (arrays.old, arrays.new, *arrays.table, *warps, values)
    return on_threads(nodes.last - nodes.first, lambda: skeleton(*arguments))


def stencil(backend, update, arrays: StencilArrays, nodes: NodeRange, values):
    """A warp of nodes at a time."""
    skeleton = skeletons.stencil(update, arrays.n_neighbours, backend.lattice, backend.precision)
    arguments = (arrays.old, arrays.new, *arrays.table, nodes.first, nodes.last, values)
    return on_threads(nodes.last - nodes.first, lambda: skeleton(*arguments))


def scalar_streaming(backend, update, arrays: StencilArrays, nodes: NodeRange, values):
    """A warp of nodes at a time."""
    skeleton = skeletons.scalar_streaming(update, arrays.n_neighbours, backend.lattice, backend.precision)
    arguments = (arrays.old, arrays.new, *arrays.table, nodes.first, nodes.last, arrays.row, values)
    return on_threads(nodes.last - nodes.first, lambda: skeleton(*arguments))


def neighbours(backend, update, table, n_neighbours: int, nodes: NodeRange, values):
    """Node after node."""
    skeleton = skeletons.neighbours(update, n_neighbours, backend.lattice, backend.precision)
    arguments = (*table, nodes.first, nodes.last, values)
    return on_threads(nodes.last - nodes.first, lambda: skeleton(*arguments))


def extrapolation(backend, field, target, stencils: ExtrapolationArrays, queue):
    """Value after value."""
    return on_threads(target.size, lambda: skeletons.extrapolation(field, target, stencils))


def links(backend, operators, buffers: LinkBuffers, links: LinkArrays, values):
    """Link after link."""
    skeleton = boundary_skeletons.links(*operators, backend.lattice, backend.precision)
    return lambda: skeleton(*buffers, links, values)


def link_fluxes(backend, operators, buffers: LinkBuffers, links: LinkArrays, fluxes, values):
    """Link after link."""
    skeleton = boundary_skeletons.link_fluxes(*operators, backend.lattice, backend.precision, buffers.entering is None)
    entering = buffers.leaving if buffers.entering is None else buffers.entering
    return lambda: skeleton(buffers.state, buffers.leaving, entering, links, *fluxes, values)


def walls(backend, rule, buffer, target, links: WallArrays):
    """Link after link."""
    skeleton = boundary_skeletons.walls(rule, backend.lattice, backend.precision)
    return on_threads(links.wall.size, lambda: skeleton(buffer, target, links))


def moments(backend, macroscopic, state: State, nodes: NodeRange, out, values):
    """A warp of nodes at a time."""
    skeleton = skeletons.moments(macroscopic, state.locations, backend.lattice, backend.precision)
    arguments = (state.buffer, *state.table, nodes.first, nodes.last, out.reshape(4, -1), values)
    return lambda: skeleton(*arguments)


def reduction(backend, macroscopic, state: State, result: ReductionArrays, values):
    """A partial result per chunk."""
    skeleton = skeletons.reduction(macroscopic, state.locations, backend.lattice, backend.precision)
    arguments = (state.buffer, *state.table, state.n_nodes, result, values)
    return on_threads(state.n_nodes, lambda: skeleton(*arguments))


def read(backend, state: State, nodes: NodeRange, out):
    """A warp of nodes at a time."""
    skeleton = skeletons.read(state.locations, backend.lattice.q, backend.precision.real)
    arguments = (state.buffer, *state.table, nodes.first, nodes.last, out.reshape(backend.lattice.q, -1))
    return lambda: skeleton(*arguments)


def write(backend, state: State, nodes: NodeRange, rows):
    """A warp of nodes at a time."""
    skeleton = skeletons.write(state.locations, backend.lattice.q, backend.precision.real)
    arguments = (state.buffer, *state.table, nodes.first, nodes.last, rows.reshape(backend.lattice.q, -1))
    return lambda: skeleton(*arguments)


def next_row(backend, schedule: ScheduleArrays, now, queue):
    """A short copy."""
    return lambda: boundary_skeletons.next_row(*schedule, now)


def sum_openings(backend, fluxes, opening, sums, scale: float):
    """Link after link."""
    return lambda: boundary_skeletons.sum_openings(fluxes, opening, sums, scale)


def feedback(backend, advance, arrays: FeedbackArrays, values):
    """One opening."""
    skeleton = boundary_skeletons.feedback(advance, backend.lattice)
    return lambda: skeleton(*arrays, values)


def particles(backend, update, particles: ParticleArrays, capacity: int, values):
    """Particle after particle."""
    skeleton = boundary_skeletons.particles(update, backend.lattice, backend.precision)
    return lambda: skeleton(particles.count, values)


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
            )
        },
    }
)
