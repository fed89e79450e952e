"""Balance of heat of a cavity between two walls of fixed temperature, its heat carried by populations. It is hot at
first, so that heat flows out before the flow is steady, and no symmetry makes roundings cancel.

A step changes the heat that is stored by what enters through the walls: the sum over their links of the population that
a wall returns less the one that it got. Single steps are compared, each standing for those up to the next one that is.

Bounds of round-off: a node passes its heat on but for the rounding of its rest population w_0 T, by eps / 2 of it at
most, and a wall rounds what it returns. That is not independent from node to node: towards the steady state the heat
that a node gains in a step becomes less than its temperature can change by, and all nodes round against it alike. So
the bound is N eps / 2 times the mean of w_0 |T| over the nodes, plus what the walls return, a node.
"""

import numpy as np

from muphy_lb.engine.transfers import Probe
from muphy_lb.lattice import scalar_lattice
from muphy_lb.model.model import FieldValue
from muphy_lb.physics.thermal.model import POPULATION_METHOD, POPULATIONS
from muphy_lb.physics.thermal.temperature import set_temperature_k
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Row, Settings, absolute
from muphy_lb.validation.flow.balance import STEADY, TOLERANCES, Budget, mass_drift
from muphy_lb.validation.limits import HALF
from muphy_lb.validation.thermal.heated_cavity import heated_simulation

RAYLEIGH, HOT_K, HEAT = 1e5, 0.5, "heat of a cavity less what entered"


def heated_budget(size: int, settings: Settings) -> Budget:
    """Mass and heat of a cube between a cold and a hot wall, at rest and hot at first."""
    simulation, _ = heated_simulation(RAYLEIGH, size, settings, method=POPULATION_METHOD)
    set_temperature_k(simulation, HOT_K)
    stored = StoredHeat(simulation)
    drifts = {"mass of a heated cavity": mass_drift(simulation), HEAT: stored.drift}
    is_judged = settings.precision != HALF
    bounds = (lambda: {HEAT: simulation.step_number * stored.round_off()}) if is_judged else dict
    return Budget(simulation, drifts, TOLERANCES, lambda: [_steady_row(simulation, stored)], bounds)


class StoredHeat:
    """Heat of a flow on one rank, and what enters through its walls; in the unit of temperature, a node.
    ``simulation``: a thermal flow whose heat is carried by populations."""

    def __init__(self, simulation: Solver):
        self._simulation, engine = simulation, simulation.engine
        self._array = [engine.fields.array(FieldValue(POPULATIONS), parity) for parity in (0, 1)]
        returned = engine.fields.table_of(POPULATIONS).table.extrapolated
        self._constant, self._weight = returned.constant, returned.weight[0] - 1.0
        self._leaving = Probe(engine.backend, self._array, (returned.index[0],) * 2, of_field=True)
        self._drift, self._step = 0.0, simulation.step_number

    def total(self) -> np.longdouble:
        """Sum over all nodes, which must not round: two of them are compared."""
        return self._populations().sum(dtype=np.longdouble)

    def round_off(self) -> float:
        """The change of heat by rounding in a step, a node, if all numbers are rounded by half a unit alike."""
        returned = self._constant + (self._weight + 1.0) * self._left()
        rest = scalar_lattice(self._simulation.lattice.dimension).w[0] * self._populations().sum(axis=0)
        half_a_unit = np.finfo(self._simulation.engine.real).eps / 2.0
        return half_a_unit * float(np.abs(rest).sum() + np.abs(returned).sum()) / self._simulation.header.n_nodes

    def entering(self) -> tuple[float, float]:
        """(heat that enters in the next step through the hot walls, through the cold ones)."""
        flows = self._constant + self._weight * self._left()
        is_hot = self._constant > self._constant.mean()
        return float(flows[is_hot].sum()), float(flows[~is_hot].sum())

    def _populations(self) -> np.ndarray:
        """(Q, n) populations of the temperature."""
        engine, domain = self._simulation.engine, self._simulation.domain
        n_rows = scalar_lattice(self._simulation.lattice.dimension).q
        values = engine.backend.to_host(self._array[engine.parity])[: n_rows * domain.pitch]
        return values.reshape(n_rows, -1)[:, : domain.n_nodes]

    def _left(self) -> np.ndarray:
        """The heat that the walls got, on their links."""
        engine = self._simulation.engine
        engine.backend.synchronise()
        return self._leaving.read(engine.parity)

    def drift(self) -> float:
        """Change of the heat less what entered, over a difference of one in every node, by the steps looked at; makes a
        step."""
        simulation = self._simulation
        before, entered = self.total(), sum(self.entering())
        simulation.step()
        lost = float(self.total() - before) - entered
        n_steps, self._step = simulation.step_number - self._step, simulation.step_number
        self._drift += n_steps * lost / simulation.header.n_nodes
        return self._drift


def _steady_row(simulation: Solver, stored: StoredHeat) -> Row:
    into, out = stored.entering()
    tolerance = STEADY[simulation.case.compute.precision]
    return absolute("heat into the cavity less that out of it, over it", 0.0, (into + out) / into, tolerance)
