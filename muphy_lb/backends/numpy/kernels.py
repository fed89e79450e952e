"""The kernels of the specification; for their arguments see :meth:`muphy_lb.backends.interface.Backend.bind`."""

from dataclasses import replace
from functools import partial

import numpy as np

from muphy_lb.backends import arrays as records
from muphy_lb.backends.arrays import WEIGHT_SHARE, NodeRange, State
from muphy_lb.backends.interface import kernels_of
from muphy_lb.domain import ROW, Crossing, entry, is_entry
from muphy_lb.domain.lookup import LAYER, corners, nearest_node, places_of
from muphy_lb.lattice import added
from muphy_lb.lattice.exact_sums import in_two_parts
from muphy_lb.lattice.layout import RECORD
from muphy_lb.operators.moments import N_WITH_STRESS
from muphy_lb.operators.saturation import reference as taken_up


def particles(backend, update, particles: records.ParticleArrays, capacity: int, values):
    """update(i) for all particles at once."""
    return lambda: update.reference(np.arange(particles.count[0]), backend.lattice, update.by_name(values))


def by_id(backend, update, count: int, values):
    """update(i) for all numbers at once."""
    return lambda: update.reference(np.arange(count), backend.lattice, update.by_name(values))


def send_particles(
    backend, update, particles, migration: records.MigrationArrays, lookup: records.LookupArrays, values
):
    """Update all, write those at nodes of other ranks to the messages for them, and close the gaps."""
    named = update.by_name(values)

    def move_all():
        return update.reference(np.arange(particles.count[0]), backend.lattice, named)

    return sending(move_all, particles, migration, lookup)


def sending(
    move_all, particles: records.ParticleArrays, migration: records.MigrationArrays, lookup: records.LookupArrays
):
    """Launch of sending particles: ``move_all()`` returns the nodes (n,) at which they are then."""
    capacity, first_remote = migration.left.size, lookup.size[LAYER]

    def send():
        node, n = move_all(), int(particles.count[0])
        columns = _columns(particles, capacity, 0, n)
        if (node < 0).any():
            migration.status[0] = 2 + 4 * int(columns[0][0, node < 0].max())
        is_remote = node >= first_remote
        target = np.full(n, -1)
        target[is_remote] = migration.neighbour[node[is_remote] - first_remote]
        for j, message in enumerate(migration.outgoing.reshape(-1, 1 + sum(map(len, columns)) * migration.most)):
            leaving = np.flatnonzero(target == j)
            if leaving.size > migration.most:
                migration.status[0], leaving = 3, leaving[: migration.most]
            message[0] = leaving.size
            rows = message[1:].reshape(-1, migration.most)
            rows[:, : leaving.size] = np.concatenate([block[:, leaving].astype(np.float64) for block in columns])
        particles.count[0] = n - np.count_nonzero(is_remote)
        for rows in columns:
            rows[:, : particles.count[0]] = rows[:, ~is_remote]

    return send


def receive_particles(backend, particles, migration: records.MigrationArrays, capacity: int):
    """Append the particles of one message after the other."""
    ends = np.cumsum([len(block) for block in _columns(particles, capacity, 0, capacity)])

    def receive():
        for message in migration.incoming.reshape(-1, 1 + ends[-1] * migration.most):
            rows = message[1:].reshape(-1, migration.most)[:, : int(message[0])]
            first, n = int(particles.count[0]), rows.shape[1]
            if first + n > capacity:
                migration.status[0], n = 1, capacity - first
            blocks = _columns(particles, capacity, first, first + n)
            for block, received in zip(blocks, np.split(rows[:, :n], ends[:-1]), strict=True):
                block[...] = received
            particles.count[0] = first + n

    return receive


def sort_particles(
    backend,
    particles: records.ParticleArrays,
    lookup: records.LookupArrays,
    capacity: int,
    arrays: records.SortingArrays,
):
    """Sort particles by the places of their voxels in the lookup."""

    def sort():
        columns = _columns(particles, capacity, 0, int(particles.count[0]))
        order = np.argsort(places_of(lookup, *columns[0][1:4]), kind="stable")
        for block in columns:
            block[...] = block[:, order]

    return sort


def _columns(particles: records.ParticleArrays, capacity: int, first: int, last: int) -> tuple:
    """Integers, reals and values (n_columns, last - first) of some particles."""
    blocks = particles.integers, particles.reals, particles.values
    return tuple(block.reshape(-1, capacity)[:, first:last] for block in blocks)


def _chosen(nodes: NodeRange) -> np.ndarray:
    n = np.arange(nodes.first, nodes.last)
    return n if nodes.where is None else n[nodes.where.array[n] & nodes.where.mask != 0]


def at_nodes(backend, update, access: records.NodeAccess, nodes: NodeRange, values, collision=None):
    """update(what it accesses) for all nodes at once, and their collision."""
    step, stored, table = access.arriving, access.stored, access.neighbours
    arriving_at = backend.addresses(State(step.old, (), step.table, nodes.last), step.pattern.load) if step else None
    stored_at = backend.addresses(stored, stored.locations) if stored else None

    def advance():
        n, found = _chosen(nodes), []
        if step:
            found.append(step.old[arriving_at[:, n]])
        if stored:
            found.append(stored.buffer[stored_at[:, n]])
        if table:
            found.append(table.addresses[:, n])
        update.reference(*found, n, backend.lattice, update.by_name(values))
        if access.changes:
            step.old[arriving_at[:, n]] = found[0]

    if collision is None or step is None:
        return advance
    collide, of_collision = collision
    flow = stream_collide(backend, collide, replace(step, occupied=nodes.where), nodes, of_collision)

    def advance_and_collide():
        advance()
        flow()

    return advance_and_collide


def refill(backend, operators, state: State, table, sources: records.Chosen, others, nodes: NodeRange, values):
    """Populations from the mean of the moments of the neighbours that are sources."""
    (update, macroscopic), (own, of_moments), (first, moments) = operators, values, others
    addresses = backend.addresses(state, state.locations)

    def replace():
        n = _chosen(nodes)
        whole, received = NodeRange(0, state.n_nodes), moments.reshape(N_WITH_STRESS, -1)
        # Own moments are rounded as those that travel.
        known = np.zeros((N_WITH_STRESS, sources.array.size), received.dtype)
        known[:, : state.n_nodes] = backend.macroscopic(macroscopic, state, whole, of_moments)
        known[:, first : first + received.shape[1]] = received
        total, count = np.zeros((N_WITH_STRESS, n.size)), np.zeros(n.size)
        for neighbour in table.addresses[:, n]:
            is_source = sources.array[neighbour] & sources.mask != 0
            total += np.where(is_source, known[:, neighbour], 0.0)
            count += is_source
        f = np.zeros((backend.lattice.q, n.size))
        update.reference(f, total / np.maximum(count, 1), n, backend.lattice, update.by_name(own))
        state.buffer[addresses[:, n]] = f

    return replace


def arriving(backend, macroscopic, arrays: records.StreamArrays, nodes: NodeRange, out, values):
    """Velocity of the populations that a step will load, at the chosen nodes."""
    whole = State(arrays.old, (), arrays.table, nodes.last)
    load = backend.addresses(whole, arrays.pattern.load)

    def measure():
        chosen = _chosen(nodes)
        stored = arrays.old[load[:, chosen]]
        moments = macroscopic.reference(stored, chosen, backend.lattice, macroscopic.by_name(values))
        out.reshape(-1, RECORD)[chosen, :3] = moments[1:].T

    return measure


def drag(backend, operators, particles: records.ParticleArrays, capacity: int, arrays: records.DragArrays, values):
    """Forces between particles and the nodes around them, for all particles at once."""
    (macroscopic, force, take), lattice = operators, backend.lattice
    of_moments, force_values, of_taking = (each.by_name(some) for each, some in zip(operators, values, strict=True))
    step, lookup, first_other = arrays.step, arrays.lookup, arrays.lookup.size[LAYER]
    nearest, takes_field, pushes = arrays.coupling
    load = backend.addresses(State(step.old, (), step.table, step.table.shape[1]), step.pattern.load)

    def velocities(address):
        found = np.stack([arrays.flow[RECORD * np.maximum(address, 0) + k] for k in range(3)])
        own = (address >= 0) & (address < first_other) & (not takes_field)
        f = step.old[load[:, address[own]]]
        found[:, own] = macroscopic.reference(f, address[own], lattice, of_moments)[1:]
        return found

    def exchange():
        i = np.arange(particles.count[0])
        voxel, offset = particles.integers.reshape(-1, capacity)[1:4, i], particles.reals.reshape(-1, capacity)[:3, i]
        address, w = nearest_node(lookup, voxel) if nearest else corners(lookup, voxel, offset, lattice.dimension)
        velocity, exists = velocities(address), address >= 0
        for k in range(lattice.dimension):
            along = force.reference(i, k, added(w * velocity[k]), added(w**2), lattice, force_values)
            if pushes:
                with np.errstate(invalid="ignore"):  # of particles that are lost, which is reported after the step
                    parts = np.rint(w * along).astype(np.int64)
                np.add.at(arrays.pushed, RECORD * address[exists] + k, -parts[exists])
                along = parts.sum(axis=0)
            take.reference(i, k, along, lattice, of_taking)
        if pushes:
            arrays.marks[address[exists & (address < first_other)]] |= arrays.mask

    return exchange


def stream_collide(backend, collide, arrays: records.StreamArrays, nodes: NodeRange, values, shape=None, behind=None):
    """new[store] = collide(old[load]), also where there is no fluid."""
    finish = advance(backend, behind.update, behind.arrays, nodes, behind.values) if behind else None
    n = np.arange(nodes.first, nodes.last)
    pattern, whole = arrays.pattern, State(arrays.old, (), arrays.table, nodes.last)
    load, store = (backend.addresses(whole, locations)[:, n] for locations in (pattern.load, pattern.store))
    where = arrays.occupied
    everywhere = where is None or where.mask == records.ANY_BIT

    def step():
        here = slice(None) if everywhere else where.array[n] & where.mask != 0
        f = backend.loaded(arrays.old[load[:, here]])
        named = backend.in_lattice_units(collide, values)
        arrays.new[store[:, here]] = backend.stored(collide.reference(f, n[here], backend.lattice, named))
        if finish:
            finish()

    return step


def advance(backend, update, arrays: records.StencilArrays, nodes: NodeRange, values):
    """new[n] = update(old[n], old[neighbours]), of all components if there are several."""

    def step():
        n = _chosen(nodes)
        sources = np.concatenate((n[None], arrays.table[:, n]))
        targets = n + arrays.row * np.arange(len(sources))[:, None] if arrays.row else n
        arrays.new[targets] = update.reference(arrays.old[sources], n, backend.lattice, update.by_name(values))

    return step


def extrapolation(backend, field, target, stencils: records.ExtrapolationArrays, queue):
    """target = constant + sum of weight * field[index]."""
    index, weight = (rows.reshape(-1, stencils.constant.size) for rows in (stencils.index, stencils.weight))

    def fill():
        target[...] = stencils.constant + sum(w * field[i] for w, i in zip(weight, index, strict=True))

    return fill


def saturation(backend, field, target, walls: records.SaturationArrays, queue):
    """target[place] = field[left] - uptake."""

    def fill():
        target[walls.place] = field[walls.left] - taken_up(target[walls.place], *walls[2:])

    return fill


def outflow(backend, field, value, target, links: records.OutflowArrays, queue):
    """target[place] = field[left] + value[node] * target[place]."""

    def fill():
        target[links.place] = field[links.left] + value[links.node] * target[links.place]

    return fill


def _leaving(backend, reflection, buffer, links: records.LinkArrays):
    """The population that the condition of every link reflects."""
    shares = links.shares.reshape(-1, 5)[links.opening].T
    read = np.concatenate((links.outgoing[None], links.reflected.reshape(3, -1)))
    value = links.value[links.opening]
    return reflection.reference(backend.loaded(buffer[read]), shares, links.q, value, backend.lattice)


def _entering(backend, operators, buffers: records.LinkBuffers, links: records.LinkArrays, values, leaving):
    """Function that computes the incoming population of every link in storage format from what ``leaving()`` gives."""
    openings, at_node = operators

    def entering():
        is_closed, condition, velocity = _at_links(backend, at_node, buffers.state, links, values)
        plane = links.plane.reshape(-1, 4)[links.opening].T
        momenta = links.momentum, links.inside
        opened = openings.reference(leaving(), links.q, condition, momenta, plane, velocity, backend.lattice)
        return np.where(is_closed, buffers.leaving[links.outgoing], backend.stored(opened))

    return entering


def _at_links(backend, at_node, state, links: records.LinkArrays, values):
    """Whether every link is closed, its condition, and the velocity of its node."""
    of_link = np.repeat(np.arange(links.node.size), np.diff(links.start))
    f = backend.loaded(state[links.state.reshape(backend.lattice.q, -1)])
    named = backend.in_lattice_units(at_node, values)
    is_closed, *velocity = at_node.reference(f, links.node, backend.lattice, named)[:, of_link]
    return is_closed != 0.0, (links.kind[links.opening], links.value[links.opening]), np.array(velocity)


def links(backend, operators, buffers: records.LinkBuffers, links: records.LinkArrays, values):
    """target[incoming] = condition(buffer[outgoing], ...)."""
    *condition, reflection = operators
    leaving = partial(_leaving, backend, reflection, buffers.leaving, links)
    entering = _entering(backend, condition, buffers, links, values, leaving)

    def fill():
        buffers.entering[links.incoming] = entering()

    return fill


def link_fluxes(backend, operators, buffers: records.LinkBuffers, links: records.LinkArrays, fluxes, values):
    """Incoming minus outgoing population of every link, and the density deviation of the plane."""
    condition, at_node, density = operators
    computed = _entering(
        backend,
        (condition, at_node),
        buffers,
        links,
        values,
        lambda: backend.loaded(buffers.leaving[links.outgoing]),
    )
    flux, deviation = fluxes
    unit, storage = backend.precision.unit, backend.precision.storage

    def measure():
        stored = computed() if buffers.entering is None else buffers.entering[links.incoming]
        found = stored.astype(storage).astype(np.float64)
        leaving = buffers.leaving[links.outgoing].astype(np.float64) / unit
        flux[...] = found / unit - leaving
        _, *known = _at_links(backend, at_node, buffers.state, links, values)
        deviation[...] = density.reference(leaving + found / unit, links.q, *known, backend.lattice)

    return measure


def walls(backend, rule, buffer, walls: records.WallArrays, crossing: Crossing):
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
    """out = rows rho - 1, ux, uy, uz, and what else the operator computes."""

    def measure():
        found = backend.macroscopic(macroscopic, state, nodes, values)
        out.reshape(len(found), -1)[...] = found

    return measure


def reduction(backend, macroscopic, state: State, occupied, result: records.ReductionArrays, values):
    """The sums of all nodes as a single partial result."""

    def reduce():
        nodes = NodeRange(0, state.n_nodes)
        deviation, *u = backend.macroscopic(macroscopic, state, nodes, values)
        speed = np.sqrt(sum(component**2 for component in u))
        finite = bool(np.isfinite(speed).all())
        result.mass[0] = deviation.sum()
        result.peak[0] = speed.max() if finite else np.inf
        parts = [in_two_parts(each, result.scale) for each in (speed, *u)] if finite else np.zeros((4, 2, 1), int)
        result.flow[:, 0] = np.ravel([[rows.sum() for rows in pair] for pair in parts])

    return reduce


def sums(backend, operators, state: State, occupied, result: records.SumArrays, values):
    """The numbers of all nodes as a single partial result."""
    (measure, macroscopic), (of_measure, of_moments) = operators, values

    def add():
        nodes = NodeRange(0, state.n_nodes)
        moments = backend.macroscopic(macroscopic, state, nodes, of_moments)
        n = np.arange(nodes.first, nodes.last)
        summed, largest = measure.reference(n, moments, backend.lattice, measure.by_name(of_measure))
        is_finite = np.isfinite(summed)
        whole, rest = in_two_parts(np.where(is_finite, summed, 0.0), result.scale)
        result.whole[:, 0] += whole.sum(axis=1)
        result.rest[:, 0] += rest.sum(axis=1)
        found = [*largest.max(axis=1, initial=-np.inf), -np.inf if is_finite.all() else np.inf]
        np.maximum(result.peak[:, 0], found, out=result.peak[:, 0])

    return add


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


def next_row(backend, schedule: records.ScheduleArrays, now, queue):
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


def sum_openings(backend, fluxes, links: records.LinkArrays, sums, scale: float):
    """sums = fixed-point sums by opening."""

    def add():
        flux, deviation = np.split(fluxes, 2)
        sums[...] = 0
        for column, values in enumerate((flux, links.weight * deviation, WEIGHT_SHARE * links.weight)):
            np.add.at(sums, 3 * links.opening + column, np.rint(values * scale).astype(np.int64))

    return add


def feedback(backend, advance, arrays: records.FeedbackArrays, values):
    """value, state = advance(outflow, deviation, state)."""
    named = advance.by_name(values)

    def update():
        sums = arrays.sums.reshape(-1, arrays.n_openings, 3).sum(axis=0)
        _, deviation, weight = sums[arrays.opening]
        outflow = -(arrays.weights @ (sums[:, 0] / arrays.scale))
        found = advance.reference(outflow, WEIGHT_SHARE * deviation / weight, tuple(arrays.state), named)
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


KERNELS = kernels_of(vars())
