"""Momentum of a flow that repeats itself, from stored instants of a beat: of four of them in turn, weighted."""

from functools import cache

import numpy as np

from muphy_lb.operators.observers import CARRYING_FIELDS
from muphy_lb.operators.operator import Operator, named

N_TERMS = 4
FIRST, N_INSTANTS, ROW = "first_instant", "n_instants", "row_of_instants"
WEIGHTS = tuple(f"weight_of_instant_{k}" for k in range(N_TERMS))
STORED = tuple(f"stored_{name}" for name in CARRYING_FIELDS)


@cache
def replay(n_axes: int) -> Operator:
    """Writes the momentum of a node along the first axes:

        m = sum_k weight_k m(instant number first + k, modulo their number)

    Rows of instants lie one after the other, ``ROW`` apart; ``FIRST`` and ``WEIGHTS`` are arrays of length one."""
    pairs = tuple(zip(CARRYING_FIELDS, STORED, strict=True))[:n_axes]

    def reference(n, lattice, parameters):
        first, count, row = int(parameters[FIRST][0]), int(parameters[N_INSTANTS]), int(parameters[ROW])
        places = [(first + k) % count * row + n for k in range(N_TERMS)]
        weights = [parameters[name][0] for name in WEIGHTS]
        for name, stored in pairs:
            rows = (parameters[stored][place] for place in places)
            parameters[name][n] = sum(weight * values for weight, values in zip(weights, rows, strict=True))

    def node(_, precision, jit, at):
        first_at, count_at, row_at, a, b, c, d = (at[name] for name in (FIRST, N_INSTANTS, ROW, *WEIGHTS))
        nothing = jit(lambda n, places, parameters: None)
        along = [_along_node(jit, at[name], at[stored], (a, b, c, d)) for name, stored in pairs]
        along += [nothing] * (len(CARRYING_FIELDS) - n_axes)
        x, y, z = along[0], along[1], along[2]

        def update(n, parameters):
            count, row = np.int64(parameters[count_at]), np.int64(parameters[row_at])
            first = np.int64(parameters[first_at][0])
            places = (
                first % count * row + n,
                (first + 1) % count * row + n,
                (first + 2) % count * row + n,
                (first + 3) % count * row + n,
            )
            x(n, places, parameters)
            y(n, places, parameters)
            z(n, places, parameters)

        return jit(update)

    own = (name for pair in pairs for name in pair)
    return Operator(f"replay-{n_axes}", reference, node, named(FIRST, N_INSTANTS, ROW, *WEIGHTS, *own))


def _along_node(jit, target: int, stored: int, weights: tuple[int, ...]):
    """Node function ``(n, places, parameters)`` of one axis."""
    a, b, c, d = weights

    def along(n, places, parameters):
        rows = parameters[stored]
        total = parameters[a][0] * rows[places[0]] + parameters[b][0] * rows[places[1]]
        parameters[target][n] = total + parameters[c][0] * rows[places[2]] + parameters[d][0] * rows[places[3]]

    return jit(along)
