"""Conditions with feedback: openings whose value depends on the flow through them.

Every ``every`` steps, ahead of a step, the mass that flows out through the opening and the mean density deviation at
its links are summed exactly (in fixed point, so that no number of ranks changes a bit), a formula advances the
condition's own state by that many steps, and its result is the opening's value until the next time. State and value are
in double precision on the device, inside recorded launches, and belong to checkpoints.
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
        initial: state of a fluid at rest.
        names: of the components of the state, with their units, for tables: ``("pressure_pa",)``; those without a name
            are not told.
        units: SI value of each component's lattice unit; 1 if not given.
        beside: by number of an opening, what share of its outflow is added to the opening's own: ``{2: -0.5}`` takes
            off half of what leaves through opening 2.
        value: value of the opening at the start.
        every: steps between two updates, one of ``EVERY``.

    Raises:
        ValueError: ``every`` is not one of these, or names or units and state differ in length.
    """

    operator: Operator
    parameters: Mapping[str, float] = field(default_factory=dict)
    initial: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    value: float = 0.0
    every: int = 1
    units: tuple[float, ...] = ()
    beside: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self):
        if self.every not in EVERY:
            raise ValueError(f"feedback every {self.every} steps; allowed: {', '.join(map(str, EVERY))}")
        if len(self.names) != len(self.initial):
            raise ValueError(f"{len(self.names)} names for a state of {len(self.initial)} numbers; give one for each")
        if self.units and len(self.units) != len(self.initial):
            raise ValueError(f"{len(self.units)} units for a state of {len(self.initial)} numbers; give one for each")

    def in_si(self, state) -> dict[str, float]:
        """A state in lattice units as numbers in SI units, by name."""
        units = self.units or (1.0,) * len(self.names)
        return {name: unit * x for name, unit, x in zip(self.names, units, state, strict=True) if name}

    @property
    def told(self) -> tuple[str, ...]:
        """The names of what :meth:`in_si` holds."""
        return tuple(name for name in self.names if name)

    def weights(self, own: int, n_openings: int) -> list[float]:
        """Weight of the outflow of each opening in what the formula is given as outflow of opening ``own``."""
        return [float(number == own) + self.beside.get(number, 0.0) for number in range(n_openings)]
