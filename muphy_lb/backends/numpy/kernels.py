"""The kernels of the specification; for their arguments see :meth:`muphy_lb.backends.interface.Backend.bind`."""

from types import MappingProxyType

import numpy as np

from muphy_lb.backends.arrays import (
    ANY_BIT,
    ExtrapolationArrays,
    FeedbackArrays,
    LinkArrays,
    LinkBuffers,
    NodeRange,
    ReductionArrays,
    ScheduleArrays,
    State,
    StencilArrays,
    StreamArrays,
    WallArrays,
)
from muphy_lb.backends.numpy.particle_kernels import KERNELS as PARTICLE_KERNELS
from muphy_lb.backends.numpy.stage_kernels import KERNELS as STAGE_KERNELS
from muphy_lb.domain import ROW, Crossing, entry, is_entry
from muphy_lb.lattice import added
from muphy_lb.lattice.exact_sums import in_two_parts


def stream_collide(backend, collide, arrays: StreamArrays, nodes: NodeRange, values, shape=None):
    """new[store] = collide(old[load]), also where there is no fluid."""
    n = np.arange(nodes.first, nodes.last)
    pattern, whole = arrays.pattern, State(arrays.old, (), arrays.table, nodes.last)
    load, store = (backend.addresses(whole, locations)[:, n] for locations in (pattern.load, pattern.store))
    where = arrays.occupied
    everywhere = where is None or where.mask == ANY_BIT

    def step():
        here = slice(None) if everywhere else where.array[n] & where.mask != 0
        f = backend.loaded(arrays.old[load[:, here]])
        named = backend.in_lattice_units(collide, values)
        arrays.new[store[:, here]] = backend.stored(collide.reference(f, n[here], backend.lattice, named))

    return step


def stencil(backend, update, arrays: StencilArrays, nodes: NodeRange, values):
    """new[n] = update(old[n], old[neighbours])."""
    n = np.arange(nodes.first, nodes.last)
    sources = np.concatenate((n[None], arrays.table[:, n]))
    targets = n + arrays.row * np.arange(len(sources))[:, None] if arrays.row else n

    def step():
        arrays.new[targets] = update.reference(arrays.old[sources], n, backend.lattice, update.by_name(values))

    return step


def extrapolation(backend, field, target, stencils: ExtrapolationArrays, queue):
    """target = constant + sum of weight * field[index]."""
    index, weight = (rows.reshape(-1, stencils.constant.size) for rows in (stencils.index, stencils.weight))

    def fill():
        target[...] = stencils.constant + sum(w * field[i] for w, i in zip(weight, index, strict=True))

    return fill


def _entering(backend, operators, buffers: LinkBuffers, links: LinkArrays, values):
    """Function that computes the incoming population of every link in storage format."""
    openings, macroscopic = operators
    of_link = np.repeat(np.arange(links.node.size), np.diff(links.start))

    def entering():
        f = backend.loaded(buffers.state[links.state.reshape(backend.lattice.q, -1)])
        named = backend.in_lattice_units(macroscopic, values)
        velocity = macroscopic.reference(f, links.node, backend.lattice, named)[1:, of_link]
        condition = links.kind[links.opening], links.value[links.opening]
        leaving = backend.loaded(buffers.leaving[links.outgoing])
        return backend.stored(
            openings.reference(leaving, links.q, condition, links.momentum, velocity, backend.lattice)
        )

    return entering


def links(backend, operators, buffers: LinkBuffers, links: LinkArrays, values):
    """target[incoming] = condition(buffer[outgoing])."""
    entering = _entering(backend, operators, buffers, links, values)

    def fill():
        buffers.entering[links.incoming] = entering()

    return fill


def link_fluxes(backend, operators, buffers: LinkBuffers, links: LinkArrays, fluxes, values):
    """Incoming minus outgoing population of every link, and the sum of its node's populations."""
    computed = _entering(backend, operators, buffers, links, values)
    of_link = np.repeat(np.arange(links.node.size), np.diff(links.start))
    flux, deviation = fluxes
    unit, storage = backend.precision.unit, backend.precision.storage

    def measure():
        stored = computed() if buffers.entering is None else buffers.entering[links.incoming]
        found = stored.astype(storage).astype(np.float64)
        flux[...] = found / unit - buffers.leaving[links.outgoing].astype(np.float64) / unit
        f = buffers.state[links.state.reshape(backend.lattice.q, -1)].astype(np.float64) / unit
        deviation[...] = added(f)[of_link]

    return measure


def walls(backend, rule, buffer, walls: WallArrays, crossing: Crossing):
    """Overwrite what arrives through links into walls, and at rest."""
    q_count, own = backend.lattice.q, walls.rest.astype(np.int64)
    entries = walls.entry.reshape(-1, own.size)
    leaving, arriving = (
        np.array([entries[entry(r)] if is_entry(r) else own + r * ROW for r in locations]) for locations in crossing
    )
    directions = np.arange(q_count)[:, None]
    needed = walls.needed >> directions & 1

    def rounded(f):
        return backend.loaded(backend.stored(f))

    def fill():
        f = np.where(needed, backend.loaded(buffer[arriving]), 0)
        changed = rule.reference(f, backend.loaded(buffer[leaving]), walls, backend.lattice, rounded)
        buffer[arriving[changed]] = backend.stored(f[changed])

    return fill


def moments(backend, macroscopic, state: State, nodes: NodeRange, out, values):
    """out = rows rho - 1, ux, uy, uz."""

    def measure():
        out.reshape(4, -1)[...] = backend.macroscopic(macroscopic, state, nodes, values)

    return measure


def reduction(backend, macroscopic, state: State, occupied, result: ReductionArrays, values):
    """The sums of all nodes as a single partial result."""

    def reduce():
        nodes = NodeRange(0, state.n_nodes)
        deviation, *u = backend.macroscopic(macroscopic, state, nodes, values)
        speed = np.sqrt(sum(component**2 for component in u))
        finite = bool(np.isfinite(speed).all())
        result.mass[0] = deviation.sum()
        result.peak[0] = speed.max() if finite else np.inf
        result.speed[0] = (speed * result.scale).astype(np.int64).sum() if finite else 0
        parts = [in_two_parts(component, result.scale) for component in u] if finite else np.zeros((3, 2, 1), int)
        result.flow[:, 0] = np.ravel([[rows.sum() for rows in pair] for pair in parts])

    return reduce


def read(backend, state: State, nodes: NodeRange, out):
    """out = buffer[addresses]."""
    addresses = backend.addresses(state, state.locations)[:, nodes.first : nodes.last]

    def copy():
        out.reshape(addresses.shape)[...] = state.buffer[addresses]

    return copy


def write(backend, state: State, nodes: NodeRange, rows):
    """buffer[addresses] = rows."""
    addresses = backend.addresses(state, state.locations)[:, nodes.first : nodes.last]

    def copy():
        state.buffer[addresses] = rows.reshape(addresses.shape)

    return copy


def next_row(backend, schedule: ScheduleArrays, now, queue):
    """now = rows[next], next += 1."""
    width = now.size

    def take():
        row = min(schedule.next[0], schedule.n_rows[0] - 1)
        given = schedule.is_scheduled != 0
        now[given] = schedule.rows[row * width : (row + 1) * width][given]
        schedule.next[0] += 1

    return take


def profile(backend, momentum, links, weights, values, queue):
    """momentum[links] = values @ weights, added up in the order of the columns, which no number of links changes."""
    rows = weights.reshape(values.size, -1)

    def compute():
        momentum[links] = np.add.reduce(values[:, None] * rows, axis=0)

    return compute


def count_step(backend, step, queue):
    """step += 1."""

    def count():
        step[0] += 1

    return count


def sum_openings(backend, fluxes, opening, sums, scale: float):
    """sums = fixed-point sums by opening."""

    def add():
        sums[...] = 0
        for column, values in enumerate(np.split(fluxes, 2)):
            np.add.at(sums, 3 * opening + column, np.rint(values * scale).astype(np.int64))
        np.add.at(sums, 3 * opening + 2, 1)

    return add


def feedback(backend, advance, arrays: FeedbackArrays, values):
    """value, state = advance(outflow, deviation, state)."""
    named = advance.by_name(values)

    def update():
        sums = arrays.sums.reshape(-1, arrays.n_openings, 3).sum(axis=0)
        _, deviation, n_links = sums[arrays.opening]
        outflow = -(arrays.weights @ (sums[:, 0] / arrays.scale))
        found = advance.reference(outflow, deviation / arrays.scale / n_links, tuple(arrays.state), named)
        arrays.value[0], arrays.state[...] = found
        arrays.other_value[0] = arrays.value[0]

    return update


def gather(backend, buffer, addresses, packed):
    """packed = buffer[addresses]."""

    def copy():
        packed[...] = buffer[addresses]

    return copy


def scatter(backend, packed, buffer, addresses):
    """buffer[addresses] = packed."""

    def copy():
        buffer[addresses] = packed

    return copy


def scatter_add(backend, packed, buffer, addresses):
    """buffer[addresses] += packed."""
    return lambda: np.add.at(buffer, addresses, packed)


KERNELS = MappingProxyType(
    {
        kernel.__name__: kernel
        for kernel in (
            stream_collide,
            stencil,
            extrapolation,
            links,
            link_fluxes,
            walls,
            moments,
            reduction,
            read,
            write,
            next_row,
            profile,
            count_step,
            sum_openings,
            feedback,
            gather,
            scatter,
            scatter_add,
        )
    }
    | {"scalar_streaming": stencil}
    | PARTICLE_KERNELS
    | STAGE_KERNELS
)
