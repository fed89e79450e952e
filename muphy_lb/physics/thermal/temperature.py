"""The temperature of a thermal flow, read and set in kelvin."""

import numpy as np

from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.measure.flow_view import FlowView, SettableFlow, whole_nodes
from muphy_lb.physics.scalar_walls import WallFluxes, entering
from muphy_lb.physics.thermal.model import DIFFERENCES, NAME, carried_temperature, temperature_fields
from muphy_lb.physics.thermal.setup import ThermalSetup
from muphy_lb.physics.thermal.wall_gradients import WallHeat


def setup_of(view: FlowView) -> ThermalSetup:
    """The temperatures of the case of a thermal flow, in lattice units."""
    return _physics(view).setup


def temperature_k(view: FlowView) -> np.ndarray | None:
    """(n,) float64 temperature [K], on rank 0; collective. In single precision 300 K would hide what differs by less
    than 3e-5 K."""
    row = view.model_field(NAME)
    return None if row is None else np.add(row, setup_of(view).zero_k, dtype=np.float64)


def set_temperature_k(simulation: SettableFlow, values) -> None:
    """Overwrite the temperature [K] by (n,) values of all nodes in node-list order, that of :func:`temperature_k`, on
    rank 0, or by one number; collective. Raises InputError: another shape, or values that are not finite."""
    above = simulation.scattered("set_temperature_k", values, 1)[0] - setup_of(simulation).zero_k
    simulation.set_fields(temperature_fields(_physics(simulation).heat, simulation.lattice, above))


def wall_heat(view: FlowView) -> WallHeat:
    """The walls of fixed temperature and those that conduct to one, on rank 0; made on first use."""
    physics = _physics(view)
    if physics.wall_heat is None:
        setup = physics.setup
        physics.wall_heat = WallHeat(whole_nodes(view), setup.fixed_k, setup.conducting, setup.conductivity)
    return physics.wall_heat


def wall_gradients_k_m(view: FlowView) -> dict[str, float]:
    """Mean temperature gradient at every wall of fixed or outer temperature [K/m], on rank 0; collective. By
    populations at walls that cut links anywhere, the gradient that conducts what enters through the wall."""
    physics = _physics(view)
    if physics.setup.heat.method == DIFFERENCES or view.case.lattice.walls == HALF_WAY:
        values = temperature_k(view)
        return {} if values is None else wall_heat(view).gradients_k_m(values)
    scalar = carried_temperature(view.lattice, physics.heat)
    if physics.wall_fluxes is None and view.communicator.rank == 0:
        physics.wall_fluxes = WallFluxes(whole_nodes(view), scalar, wall_heat(view).walls)
    fluxes, found = physics.wall_fluxes, entering(view, scalar, physics.wall_fluxes)
    if fluxes is None or found is None:
        return {}
    per_area = -view.units.spacing_m * scalar.diffusivity
    return {name: found[name] / (area * per_area) for name, area in fluxes.areas.items()}


def _physics(view: FlowView):
    return next(physics for physics in view.physics if physics.name == "thermal")
