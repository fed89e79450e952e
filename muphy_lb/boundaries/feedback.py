"""Conditions with feedback: openings whose value depends on the flow through them.

Every ``every`` steps, before a step, the outflow through the opening and the mean density deviation at its links are
summed exactly (in fixed point, so that the bits do not depend on the number of ranks). A formula advances the state of
the condition by that many steps, and its result is the opening's value until the next update. State and value are in
double precision on the device, are updated within recorded launches, and are stored in checkpoints.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muphy_lb.operators.operator import Operator

EVERY = (1, 2, 4, 8, 16)
"""Allowed numbers of steps between two updates: divisors of the number of steps of one recorded launch."""


@dataclass(frozen=True)
class Feedback:
    """The feedback law of an opening.

    Attributes:
        operator: the formula. Its specification ``reference(outflow, deviation, state, parameters)`` returns the
            opening's new value (lattice units: mean inward velocity, or rho_out - 1) and its new state, a tuple. Its
            node function ``advance(outflow, deviation, state, parameters)`` returns the value and overwrites ``state``,
            an array. ``outflow`` is the mass that leaves per step, ``deviation`` the mean of rho - 1 over the links.
        parameters: value of each parameter of the operator, by name, lattice units.
        initial: state for a fluid at rest.
        names: names of the components of the state, for tables.
        value: initial value of the opening.
        every: steps between two updates, one of ``EVERY``.

    Raises:
        ValueError: ``every`` is not one of these, or names and state differ in length.
    """

    operator: Operator
    parameters: Mapping[str, float] = field(default_factory=dict)
    initial: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    value: float = 0.0
    every: int = 1

    def __post_init__(self):
        if self.every not in EVERY:
            raise ValueError(f"feedback every {self.every} steps; allowed: {', '.join(map(str, EVERY))}")
        if len(self.names) != len(self.initial):
            raise ValueError(f"{len(self.names)} names for a state of {len(self.initial)} numbers; give one for each")
