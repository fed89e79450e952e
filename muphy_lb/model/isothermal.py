"""Isothermal flow: one set of populations, a collision with body force, openings, walls. The order of a step is that of
its streaming (:class:`muphy_lb.domain.Streaming`). Everything but the interior belongs to the edge and runs
concurrently with it where the device supports that; with pull the openings also overlap with the messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from muphy_lb.base.errors import InputError
from muphy_lb.domain import streaming_named
from muphy_lb.lattice import Lattice
from muphy_lb.model.model import Model, StressShare, Value
from muphy_lb.operators import (
    BGK,
    COMPRESSIBLE,
    CONSTANT,
    UNIFORM,
    WALLS,
    Closure,
    Equilibrium,
    Observer,
    Operator,
    Relaxation,
    collision,
    force_with_drag,
    macroscopic,
    moments_with_drag,
    openings,
    plane_density,
)
from muphy_lb.operators.darcy import DRAG, EVEN_RATE, stress_share
from muphy_lb.operators.forces import COMPONENTS


@dataclass(frozen=True)
class Fluid:
    """The collision of the flow."""

    #: values of the parameters of the relaxation and then of the closure, but for fields; the first is omega = 1 / tau
    rates: tuple[float, ...]
    #: relaxation, equilibrium, closure: the operators
    relaxation: Relaxation = BGK
    equilibrium: Equilibrium = COMPRESSIBLE
    closure: Closure = CONSTANT

    @property
    def parameters(self) -> dict[str, float]:
        """The rates by name. Raises InputError: their number is not that of the parameters."""
        given = (*self.relaxation.parameters, *self.closure.parameters)
        names = [parameter.name for parameter in given if parameter.name not in self.closure.reads]
        if len(names) != len(self.rates):
            raise InputError(
                f"collision {self.relaxation.name!r} with closure {self.closure.name!r} has {len(self.rates)} values;"
                f" give one for each of {', '.join(names)}"
            )
        return dict(zip(names, self.rates, strict=True))


def isothermal(
    lattice: Lattice,
    fluid: Fluid,
    streaming: str,
    force: Sequence[Value] | Mapping[str, Value] = (0.0, 0.0, 0.0),
    force_operator: Operator = UNIFORM,
    observer: Observer | None = None,
    has_drag: bool = False,
) -> Model:
    """Declare isothermal flow.

    Args:
        force: components of the body force per volume (lattice units, rho_0 = 1), in the form that the operator reads;
            or values of all parameters of force and observer, by name.
        force_operator: ``UNIFORM``, ``FIELD`` (three arrays with a value per local node) or ``VARYING``, or a sum of
            such a force and others (:func:`muphy_lb.operators.sum_of_forces`).
        observer: stores values of every node before its collision.
        has_drag: whether there is a porous medium (:mod:`muphy_lb.operators.darcy`), whose fields ``force`` then names.

    Raises InputError: unknown streaming.
    """
    kind = streaming_named(streaming)
    given = force if isinstance(force, Mapping) else dict(zip(COMPONENTS, force, strict=True))
    moments = macroscopic(kind.half_force, fluid.equilibrium, force_operator)
    return Model(
        name="isothermal",
        lattice=lattice,
        streaming=kind,
        equilibrium=fluid.equilibrium,
        collision=collision(fluid.relaxation, fluid.equilibrium, fluid.closure, force_operator, observer, has_drag),
        macroscopic=moments_with_drag(moments, kind.half_force, fluid.equilibrium) if has_drag else moments,
        force=force_with_drag(force_operator) if has_drag else force_operator,
        openings=openings(fluid.equilibrium),
        plane_density=plane_density(fluid.equilibrium),
        walls=WALLS,
        parameters={**fluid.parameters, **given},
        plane_rate=fluid.closure.of_planes(fluid.rates[0], fluid.parameters),
        stress_share=StressShare((DRAG, EVEN_RATE), partial(stress_share, omega=fluid.rates[0])) if has_drag else None,
    )
