"""Link-wise walls at any distance: f_q' = f~_q(x) + b (f~_q(x - c_q) - f~_q(x)) + c (f~_q'(x) - f~_q(x)) + d,
q' = opposite(q), c_q into the wall; f~ are populations after collision, f_q' is the one that enters the node at x; the
neighbour at x - c_q lies behind it.

With the wall at the fraction s of the link and W = 3 w_q c_q.u_w (u_w = velocity of the wall at the intersection):

half-way           b = c = 0           d = -2 W    (s = 1/2)
bouzidi, s < 1/2   b = 1 - 2 s         d = -2 W
bouzidi, s >= 1/2  c = 1 - 1 / (2 s)   d = -W / s
central-linear     b = -c = k          d = -4 W / (1 + 2 s),  k = (1 - 2 s) / (1 + 2 s)

half-way: Ladd, J. Fluid Mech. 271, 285 (1994); bouzidi: Bouzidi, Firdaouss, Lallemand, Phys. Fluids 13, 3452 (2001);
central-linear: Ginzburg, d'Humieres, Phys. Rev. E 68, 066614 (2003), their "CLI". It is viscosity-independent with two
relaxation times and leaves an undamped oscillation of period two: average forces over an even number of steps.
Walls that move amplify it by the quadratic terms of the equilibrium, so that some of bouzidi damps it there
(``DAMPING``). Both are of one family of equal order, with the wall at s = (1 - b) / (1 - c) / 2 and d = -2 W (1 - c).

Interpolation returns more or less than it receives; the difference goes to the node's population at rest, and so does
what the node exchanges with a neighbour along the wall, in direction q: a share of the mass that their link carries to
the node, share (f_q' - f~_q), where f_q' is about to arrive from that neighbour. So all nodes together lose nothing
(:mod:`muphy_lb.boundaries.wall_balance`).

Of differences alone, the rules also hold for stored deviations f - w. For the node function b, c and shares are pure
numbers; the populations, and d times the scheduled value of the wall, are in stored units.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from muphy_lb.operators.operator import Operator

# Share of bouzidi in central-linear per cell Reynolds number with the wall's velocity: the sums of (-1)^(x+t) j_x
# and its like, which no collision changes, decay at turning walls from a fifth of it on (benchmarks/notes/walls.md).
DAMPING = 0.05


def _half_way(s, momentum):
    zero = np.zeros_like(s)
    return zero, zero, momentum


def _bouzidi(s, momentum):
    is_near = s < 0.5
    return (
        np.where(is_near, 1 - 2 * s, 0.0),
        np.where(is_near, 0.0, 1 - 0.5 / s),
        momentum * np.where(is_near, 1.0, 0.5 / s),
    )


def _central_linear(s, momentum):
    k = (1 - 2 * s) / (1 + 2 * s)
    return k, -k, 2 * momentum / (1 + 2 * s)


WALL_RULES: Mapping[str, Callable] = MappingProxyType(
    {"half-way": _half_way, "bouzidi": _bouzidi, "central-linear": _central_linear}
)


def wall_coefficients(
    rule: str, distance: np.ndarray, momentum: np.ndarray, share: float = 1.0, reynolds=0.0
) -> np.ndarray:
    """(3, L) coefficients b, c, d.

    Args:
        rule: name in ``WALL_RULES``.
        distance: (L,) fraction s of the link at which it meets the wall, in (0, 1].
        momentum: (L,) ``link_momentum`` of the wall's velocity there, -2 W.
        share: share of the rule, from 0 to 1; the rest is half-way bounce-back.
        reynolds: (L,) cell Reynolds number with the wall's velocity there; 0 in creeping flow.
    """
    coefficients = np.stack(WALL_RULES[rule](distance, momentum))
    if rule == "central-linear":
        damped = np.minimum(DAMPING * reynolds, 1.0)
        coefficients += damped * (np.stack(_bouzidi(distance, momentum)) - coefficients)
    if share == 1.0:
        return coefficients
    return share * coefficients + (1.0 - share) * np.stack(_half_way(distance, momentum))


def _reference(arriving, leaving, walls, lattice, rounded):
    """Overwrite what arrives at the nodes of :class:`muphy_lb.backends.arrays.WallArrays`, (Q, M), from it and from
    what they have sent, ``leaving`` (Q, M); returns (Q, M) whether it was overwritten. ``rounded(f)`` is a population
    as it is read back from storage."""
    keeps_mass, n_nodes, directions = walls.along_walls.size > 0, walls.rest.size, np.arange(lattice.q)[:, None]
    links = (walls.into_walls >> directions & 1).astype(bool)
    exchanges = (walls.along_walls >> directions & 1).astype(bool) if keeps_mass else np.zeros_like(links)
    b, c = (coefficients.reshape(-1, n_nodes) for coefficients in (walls.b, walls.c))
    d, inflow = _of_moving_walls(walls)
    gained, changed = np.zeros(n_nodes), np.zeros_like(links)
    for q, back in enumerate(lattice.opposite[1:], 1):
        k, left = q - 1, leaving[q]
        entering = left + b[k] * (arriving[q] - left) + c[k] * (leaving[back] - left) + d[k]
        gained += np.where(links[q], left - rounded(entering).astype(np.float64) + inflow[k], 0.0)
        exchanged = (b[k] * (arriving[back] - left)).astype(np.float64)
        gained += np.where(exchanges[q], exchanged + inflow[k], 0.0)
        arriving[back] = np.where(links[q], entering, arriving[back])
        changed[back] = links[q]
    if keeps_mass:
        arriving[0], changed[0] = leaving[0] + gained.astype(leaving.dtype), links.any(axis=0)
    return changed


def _of_moving_walls(walls) -> tuple[np.ndarray, np.ndarray]:
    """(Q - 1, M) coefficients d of links, and inflows, as the walls move now."""
    if walls.d.size == 0:
        return (np.zeros((walls.b.size // walls.rest.size, 1), walls.b.dtype),) * 2
    value = walls.value[walls.wall]
    return tuple((per_value * value).reshape(-1, walls.rest.size) for per_value in (walls.d, walls.inflow))


def _node(lattice, precision, jit, at):
    n_directions, real, unit = lattice.q - 1, precision.real, precision.real(precision.unit)
    zero, opposite, rounded = real(0), tuple(int(q) for q in lattice.opposite), jit(_rounded(precision))

    def update(arriving, leaving, b, m, first, step, walls):
        """Overwrite what arrives at node m; returns the mask of the populations that were overwritten.

        ``b``: those of the node in all directions, which have been loaded beforehand, since memory is slow to answer.
        Its other numbers, of direction q, are at ``first + (q - 1) * step``. Each direction is computed as if it led
        into a wall, and selected afterwards: nodes at walls differ at random, and no branch could be predicted. The
        gain of the node is summed in double precision, because the roundings of a flow that repeats repeat with it."""
        keeps_mass, moves = walls.along_walls.size > 0, walls.d.size > 0
        into, along = walls.into_walls[m], walls.along_walls[m] if keeps_mass else walls.into_walls[m]
        gained, changed, d, inflow = np.float64(0), 0, zero, zero
        for k in range(n_directions):
            i, back, left = first + k * step, arriving[opposite[k + 1]], leaving[k + 1]
            if moves:
                value = unit * walls.value[walls.wall[i]]
                d, inflow = walls.d[i] * value, walls.inflow[i] * value
            from_behind, sent_back = arriving[k + 1] - left, leaving[opposite[k + 1]] - left
            entering = left + b[k] * from_behind + walls.c[i] * sent_back + d
            is_link, is_exchange = into >> (k + 1) & 1, along >> (k + 1) & 1
            exchanged = b[k] * (back - left) if is_exchange else zero
            given, taken = (left, rounded(entering)) if is_link else (exchanged, zero)
            difference = np.float64(given) - np.float64(taken)
            if moves and is_link | is_exchange:
                difference += np.float64(inflow)
            gained += difference
            arriving[opposite[k + 1]] = entering if is_link else back
            changed |= is_link << opposite[k + 1]
        if keeps_mass:
            arriving[0] = leaving[0] + real(gained)
            changed |= 1
        return changed

    return jit(update)


def _rounded(precision):
    """A population as it is read back from storage."""
    real, storage = precision.real, precision.storage

    def same(f):
        return f

    def rounded(f):
        return real(storage(f))

    return same if real is storage else rounded


WALLS = Operator("walls", _reference, _node)
"""The populations that enter a node through its links into walls and, if there are exchanges, the balance of mass:
together, since both need the same populations. Each backend decides whether to unroll the loop over directions."""
