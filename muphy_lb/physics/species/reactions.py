"""Reactions of the species of a node over one time step, by the classical Runge-Kutta method in equal parts of it.

At the start of a step, what a node has sent at the end of the last one reacts (Lie splitting, of first order in the
time step and so of second order in the spacing where both shrink as in diffusive scaling):

    S = phi(c~) - c~,   c~ = T + S_old / 2

with phi the reactions over a step, T the stored value of the species (:mod:`muphy_lb.physics.scalar`). The populations
of the node gain S in that step, so in a stirred fluid c~, which belongs to the middle between two steps, is exact to
the order of the integration, and T, the mean of two, to the square of the step.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.operators import Operator
from muphy_lb.operators.operator import named
from muphy_lb.operators.unroll import function_from, unroll
from muphy_lb.physics.species.rates import OF_NUMBERS, RateLaw

PART, PARTS = "part_of_step", "parts_of_step"
SCALE_OF_NOTHING = 1.0  # value of a species that a case gives none, for what follows from the size of values
SMOOTH = 0.25  # largest change of a rate over a part of a step, relative
COARSE = 1.0  # the same for values that are known only after parts have been chosen; 2.8 is unstable
MOST_PARTS = 100
BELOW = 0.95  # share of the longest time step in a message, which two digits do not round beyond it
DIFFERENCE = 1e-6  # relative step of numerical derivatives
SHARES = (1.0, 0.1, 0.01, 1e-3, 0.0)  # of the largest values, at which derivatives are looked at


def changes_of(name: str) -> str:
    """Name of the field with half of what reactions add to a species in a step."""
    return f"{name}_half_change"


def parts_of_step(laws: Sequence[RateLaw], scales: Sequence[float], time_step_s: float) -> int:
    """Number of parts of a time step in which rate laws are integrated, from their derivatives at values of all species
    as large as a case has them, and down to 0, where laws that saturate are steep. Raises InputError: a law is not
    finite at the largest values, or too stiff for the step."""
    stiffest, key = _stiffest(laws, scales, time_step_s)
    parts = max(1, int(np.ceil(stiffest / SMOOTH)))
    if parts > MOST_PARTS:
        step_s = BELOW * time_step_s * MOST_PARTS * SMOOTH / stiffest
        raise InputError(
            f"{key}: the law changes its rate by {stiffest:.3g} times in a time step of {time_step_s:.3g} s; at most"
            f" {MOST_PARTS * SMOOTH:g} is integrated: give lattice.time_step_s = {step_s:.2g} or less, or take the fast"
            " reaction as complete"
        )
    return parts


def refuse_stiff(
    laws: Sequence[RateLaw], values: Sequence[float] | np.ndarray, n_parts: int, time_step_s: float
) -> None:
    """Refuse values of all species that are not in the case, from a file or a user, where its parts of a step do
    not follow the laws. Raises InputError: they do not."""
    stiffest, key = _stiffest(laws, values, time_step_s)
    if stiffest > COARSE * n_parts:
        told = ", ".join(f"{value:.3g}" for value in values)
        raise InputError(
            f"{key}: at values of the species up to {told} the law changes its rate by {stiffest:.3g} times in a time"
            f" step, and {COARSE * n_parts:g} is integrated, as the values of the case ask for: give"
            f" lattice.time_step_s = {BELOW * COARSE * time_step_s / stiffest:.2g} or less, or smaller values"
        )


def rate_of_change(laws: Sequence[RateLaw], scales: Sequence[float]) -> float:
    """The largest relative change of the rate of a law [1/s], as of :func:`parts_of_step`."""
    return _stiffest(laws, scales, 1.0)[0]


def _stiffest(laws: Sequence[RateLaw], scales: Sequence[float] | np.ndarray, time_step_s: float) -> tuple[float, str]:
    """The largest relative change of the rate of a law in a time step, and the key of that law."""
    largest = np.array([scale or SCALE_OF_NOTHING for scale in scales], dtype=np.float64)
    stiffest, key = 0.0, ""
    for law in laws:
        slopes = [float(_changes(law, share * largest, largest)[1]) for share in SHARES]
        slopes = [slope for slope in slopes if np.isfinite(slope)]
        if not slopes or not np.isfinite(float(_changes(law, largest, largest)[0])):
            values = ", ".join(f"{x:g}" for x in largest)
            raise InputError(f"{law.key} = {law.text!r} is not finite at values of {values}, or just below")
        found = time_step_s * max(slopes)
        if found > stiffest:
            stiffest, key = found, law.key
    return stiffest, key


def _changes(law: RateLaw, at: np.ndarray, scale: np.ndarray) -> tuple[float, float]:
    """Value of a law, and the sum of its derivatives by all species, from differences towards 0, at 0 away from it."""
    steps = np.where(at > 0.0, -DIFFERENCE * at, DIFFERENCE * SHARES[-2] * scale)
    with np.errstate(all="ignore"):
        here = float(law(at))
        changes = np.array(
            [float(law(at + step * axis)) - here for step, axis in zip(steps, np.eye(at.size), strict=True)]
        )
        return here, float(np.abs(changes / steps).sum())


@dataclass(frozen=True)
class Reactions:
    """The rate laws of all species, in the order of the vector that they read."""

    names: tuple[str, ...]
    laws: tuple[RateLaw, ...]
    time_step_s: float

    def operator(self) -> Operator:
        """The operator of a stage that stores half of the change of every species in a step."""
        return _integration(self.names, tuple(ast.unparse(law.tree) for law in self.laws), self.time_step_s)

    def parameters(self, n_parts: int) -> dict:
        """Values of the parameters of the operator but for the fields."""
        return {PART: 1.0 / n_parts, PARTS: np.int64(n_parts)}

    def half_changes(self, values: Sequence[np.ndarray], n_parts: int) -> np.ndarray:
        """(species, n) changes in the first half of a step, from values (n,) of all species at its start."""
        return _integrated(self._rates, np.array(np.broadcast_arrays(*values), np.float64), 0.5 / n_parts, n_parts)

    def _rates(self, values: np.ndarray) -> np.ndarray:
        return _rates(self.laws, values, self.time_step_s)


def _rates(laws: Sequence[RateLaw], values: np.ndarray, time_step_s: float) -> np.ndarray:
    """(species, n) rates in a step."""
    return np.stack(np.broadcast_arrays(*(law(values) * time_step_s for law in laws), values[0])[:-1])


def _integrated(rates: Callable, start: np.ndarray, part: float, n_parts: int) -> np.ndarray:
    """(species, n) changes over some parts of a step; the specification."""
    change = np.zeros_like(start)
    for _ in range(n_parts):
        now = start + change
        first = rates(now)
        second = rates(now + 0.5 * part * first)
        third = rates(now + 0.5 * part * second)
        last = rates(now + part * third)
        change += part / 6.0 * (first + 2.0 * (second + third) + last)
    return change


@cache
def _integration(names: tuple[str, ...], texts: tuple[str, ...], time_step_s: float) -> Operator:
    """The operator of rate laws by their checked texts; cached, since compiled code is cached by operator."""
    trees = [ast.parse(text, mode="eval").body for text in texts]
    fields = [changes_of(name) for name in names]
    laws = [RateLaw(*each) for each in zip(names, texts, trees, strict=True)]

    def reference(n, lattice, parameters):
        start = np.array([parameters[name][n] + parameters[half][n] for name, half in zip(names, fields, strict=True)])
        part, n_parts = parameters[PART], int(parameters[PARTS])
        change = _integrated(lambda values: _rates(laws, values, time_step_s), start, part, n_parts)
        for half, values in zip(fields, change, strict=True):
            parameters[half][n] = 0.5 * values

    def node(lattice, precision, jit, at):
        real, count = precision.real, len(names)
        value_at, half_at = tuple(at[name] for name in names), tuple(at[name] for name in fields)
        part_at, parts_at = at[PART], at[PARTS]
        zero, half, sixth, two = real(0), real(0.5), real(1.0 / 6.0), real(2)
        rate = _rate_node(trees, time_step_s, real, jit)

        def react(n, parameters):
            start = [zero] * count
            change = [zero] * count
            moved = [zero] * count
            first = [zero] * count
            second = [zero] * count
            third = [zero] * count
            last = [zero] * count
            part, parts = parameters[part_at], parameters[parts_at]
            for k in range(count):
                start[k] = parameters[value_at[k]][n] + parameters[half_at[k]][n]
            for _ in range(parts):
                for k in range(count):
                    moved[k] = start[k] + change[k]
                first = rate(moved)
                for k in range(count):
                    moved[k] = start[k] + change[k] + half * part * first[k]
                second = rate(moved)
                for k in range(count):
                    moved[k] = start[k] + change[k] + half * part * second[k]
                third = rate(moved)
                for k in range(count):
                    moved[k] = start[k] + change[k] + part * third[k]
                last = rate(moved)
                for k in range(count):
                    change[k] += sixth * part * (first[k] + two * (second[k] + third[k]) + last[k])
            for k in range(count):
                parameters[half_at[k]][n] = half * change[k]

        return jit(unroll(react))

    return Operator(f"reactions of {', '.join(names)}", reference, node, named(*names, *fields, PART, PARTS))


def _rate_node(trees: Sequence[ast.expr], time_step_s: float, real, jit):
    """Node function ``(c)`` -> tuple of the rates of all species in a step; its numbers are of type ``real``."""
    numbers: dict = {"_step": real(time_step_s)}
    scaled = [ast.BinOp(_Typed(real, numbers).visit(tree), ast.Mult(), _name("_step")) for tree in _copies(trees)]

    def rate(c):
        return c

    arguments = ast.arguments(posonlyargs=[], args=[ast.arg("c")], kwonlyargs=[], kw_defaults=[], defaults=[])
    body: list[ast.stmt] = [ast.Return(ast.Tuple(list(scaled), ast.Load()))]
    tree = ast.Module([ast.FunctionDef("rate", arguments, body, [])], [])
    return jit(function_from(tree, rate, "rate law", numbers | OF_NUMBERS))


def _copies(trees: Sequence[ast.expr]) -> list[ast.expr]:
    return [ast.parse(ast.unparse(tree), mode="eval").body for tree in trees]


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


class _Typed(ast.NodeTransformer):
    """Replaces every number by a global of type ``real``, but for the entries of the vector."""

    def __init__(self, real, numbers: dict):
        self._real, self._numbers = real, numbers

    def visit_Subscript(self, node):
        """An entry of the vector keeps its number."""
        return node

    def visit_Constant(self, node):
        """A number becomes a global."""
        name = f"_number_{len(self._numbers)}"
        self._numbers[name] = self._real(node.value)
        return _name(name)
