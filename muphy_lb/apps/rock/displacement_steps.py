"""Points of a curve that two fluids reach one after another: pressures that are held until the saturation has settled,
and saturations that the share of the second fluid in what enters holds."""

from functools import cached_property
from math import inf, nan

import numpy as np

from muphy_lb.apps.rock.curve import LENGTHS, PERMEABILITIES
from muphy_lb.base.errors import InputError
from muphy_lb.case.case import Case
from muphy_lb.measure.displacement import LONG, Displacement
from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.measure.permeability import nodes_in_rock, rock_of
from muphy_lb.measure.permeability_observer import rest_of_change
from muphy_lb.measure.series_mean import mean_and_error
from muphy_lb.parallel import NodeGather
from muphy_lb.run.simulation import Simulation
from muphy_lb.run.stop_signals import StopSignals

LOOKS, HELD_LOOKS, MEAN_LOOKS, AGREEING = 20, 100, 40, 2
"""Looks at a point, at one whose saturation is held, of those in which relative permeabilities are averaged behind
them, and of those in a row that have to agree."""
GAIN = 0.5
"""Share of the missing saturation that enters until the next look: fluid that is trapped is not got back."""
LEFT = "leaving_share"
"""Number of a row, not of its table: mean share of the second fluid in what leaves; the next point begins with it."""
MEMORY = 0.8
"""Weight of earlier looks in the mean of what leaves, which in few pores comes in blobs."""
THROUGH = 4.0
"""Volumes of the reservoir ahead of the rock that flow through it in the memory of what it holds."""
STRIPS, LEAST_SCATTER = 4, 1e-4
"""Strips of the rock whose pressure gradients are compared; least scatter about a line over the variance of a pressure,
so that a blob of a few nodes, whose line leaves none, does not count for all."""
STUCK = 0.1
"""Part of what may be missing, within which the rest of the change is none while one fluid alone enters."""
ALONE_WITHIN = 1e-3
"""Relative change of the pressure gradient of the first fluid alone in a look, within which it has settled."""


def step_unless_stopped(sim: Simulation, n_steps: int, signals: StopSignals) -> bool:
    """Advance by some steps; False if a signal asked to stop, at the next check of the flow. Collective."""
    last, every = sim.step_number + n_steps, sim.core.case.run.check_interval_steps
    while sim.step_number < last:
        sim.step(min(every, last - sim.step_number))
        if sim.core.communicator.maximum(signals.received):
            return False
    return True


class Steps:
    """Steps along a curve of capillary pressure or saturation.

    Args:
        sim: the flow.
        fluids: both fluids.
        inlet: opening through which the second one enters.
        within: what of the saturation may be left to change or to meet.
        signals: those that ask to stop.
    """

    def __init__(self, sim: Simulation, fluids: Displacement, inlet: str, within: float, signals: StopSignals):
        self._sim, self._fluids, self._inlet, self._within, self._signals = sim, fluids, inlet, within, signals
        self._n_most = sim.core.numerics.steps
        self._window = max(self._n_most // LOOKS, 1)

    def at(self, point: float) -> dict | None:
        """The row of the table for a point; None if a signal asked to stop. Collective."""
        raise NotImplementedError

    def _rise(self) -> None:
        """Wait until the values of the openings have risen."""
        self._sim.step(max(self._sim.core.case.run.ramp_steps - self._sim.step_number, 0))

    def _goes_on(self, first: int, n_agreeing: int) -> bool:
        """Whether a point that began at a step needs further looks, and may have them."""
        return n_agreeing < AGREEING and self._sim.step_number - first < self._n_most

    def _next(self, n_steps: int) -> float | None:
        """The saturation so many steps later; None if a signal asked to stop."""
        return self.saturation() if step_unless_stopped(self._sim, n_steps, self._signals) else None

    def _row(self, first: int, saturation: float, error: float, is_settled: bool, fastest: float) -> dict:
        sim = self._sim
        found: dict = {"first_saturation": saturation, "saturation_error": error, "is_settled": is_settled}
        structure = sim.core.communicator.broadcast(self._fluids.structure(sim.core))
        found |= {"steps": sim.step_number - first, "capillary_number": fastest, "reached": ", ".join(self._reached())}
        return found | structure

    def capillary_number(self) -> float:
        """Capillary number of the mean speed in the pores of the rock, reservoirs left out, with the viscosity of the
        more viscous fluid, on every rank. Collective."""
        core, case, speed = self._sim.core, self._sim.core.case, self._sim.core.velocity_m_s()
        viscosity = max(self._fluids.viscosities_m2_s(case)) * case.fluid.density_kg_m3
        mean = None if speed is None else float(np.linalg.norm(speed[self._in_rock], axis=1).mean())
        return core.communicator.broadcast(mean) * viscosity / self._fluids.tension_n_m(case)

    @cached_property
    def _in_rock(self) -> np.ndarray:
        """(n,) mask of the nodes in the rock, on rank 0."""
        core = self._sim.core
        inside = np.zeros(core.header.n_nodes, dtype=bool)
        inside[nodes_in_rock(core)] = True
        return inside

    def saturation(self) -> float:
        """Saturation of the first fluid in the rock, reservoirs left out, on every rank."""
        core = self._sim.core
        second = self._fluids.saturation(core, self._in_rock if core.communicator.rank == 0 else slice(None))
        return 1.0 - core.communicator.broadcast(second)

    def _reached(self) -> list[str]:
        """Names of the other openings that the second fluid has reached."""
        core = self._sim.core
        links, is_second, found = core.domain.links, self._fluids.is_second(core), []
        for number, opening in enumerate(core.header.openings):
            is_there = bool(is_second[links.node[links.boundary == number]].any())
            if core.communicator.maximum(int(is_there)) and opening.name != self._inlet:
                found.append(opening.name)
        return found


class PressureSteps(Steps):
    """Pressures, each held until the rest of the change of the saturation is little twice in a row: a pressure takes
    time to reach the interface. The rest follows from the last two changes, as that of a geometric series, so
    that it does not depend on the time between looks."""

    def at(self, point: float) -> dict | None:
        """The row of the table for a pressure [Pa]; None if a signal asked to stop. Collective."""
        self._sim.change({f"openings.{self._inlet}.pressure_pa": point})
        self._rise()
        first, now, change, n_agreeing, fastest, rest = self._sim.step_number, self.saturation(), inf, 0, 0.0, inf
        while self._goes_on(first, n_agreeing):
            then = self._next(self._window)
            if then is None:
                return None
            rest, change, now = rest_of_change(change, then - now), then - now, then
            n_agreeing = n_agreeing + 1 if rest <= self._within else 0
            fastest = max(fastest, self.capillary_number())
        most = now if change < 0.0 else 1.0 - now
        return self._row(first, now, min(rest, most), n_agreeing == AGREEING, fastest)


class Gradient:
    """Fall of the pressure along the way in of an inlet, in the middle half of a rock, which keeps off what capillary
    pressure does at its ends. In a steady flow of uniform saturation the capillary pressure is uniform, and pressures
    of both fluids fall alike: the fall is their common slope (:func:`common_slope`). Its standard error is that of
    ``STRIPS`` strips beside each other, since blobs have capillary pressures of their own, and how far the slopes of
    both fluids lie apart, by which the capillary pressure is not uniform."""

    def __init__(self, sim: Simulation, inlet: str):
        self._sim, core = sim, sim.core
        rock, normals = rock_of(core.header), {each.name: each.normal for each in core.header.openings}
        self._axis = int(np.abs(normals[inlet]).argmax())
        self._sign = -float(np.sign(normals[inlet][self._axis]))
        low, high = rock.low[self._axis], rock.high[self._axis]
        self._middle = low + (high - low) // 4, high - (high - low) // 4

    def __call__(self, is_second: np.ndarray) -> tuple[float, float]:
        """The fall [Pa/m], negative where the pressure rises, and its error; ``is_second``: (n,) whether a local node
        holds more of the second fluid. Collective."""
        core, found = self._sim.core, None
        gather = NodeGather(core.communicator, core.domain.number, core.header.n_nodes)
        pressure, second = core.pressure_pa(), gather.collect(is_second)
        if pressure is not None and second is not None:
            chosen, strip = self._strips
            x, y, fluid = self._place[chosen], pressure[chosen], second[chosen].astype(np.int64)
            slope, apart = common_slope(x, y, fluid)
            slopes = [common_slope(x[own], y[own], fluid[own])[0] for own in (strip == k for k in range(STRIPS))]
            error = float(np.hypot(np.std(slopes, ddof=1) / np.sqrt(STRIPS), apart))
            found = self._sign * slope / core.header.spacing_m, error / core.header.spacing_m
        return core.communicator.broadcast(found)

    def is_ahead(self) -> np.ndarray:
        """(n,) whether each node lies on the inlet's side of the middle of the rock, on rank 0."""
        return self._sign * (self._place - 0.5 * sum(self._middle)) > 0.0

    @cached_property
    def _strips(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the nodes in the middle of the rock, and the strip of each, of as many nodes, on rank 0."""
        chosen = np.flatnonzero((self._place >= self._middle[0]) & (self._place < self._middle[1]))
        across = np.array(self._sim.core.header.shape[::-1])
        across[self._axis] = 0
        beside = whole_nodes(self._sim.core).coordinates()[chosen, int(across.argmax())]
        strip = np.empty(chosen.size, dtype=np.int64)
        strip[np.argsort(beside, kind="stable")] = np.arange(chosen.size) * STRIPS // max(chosen.size, 1)
        return chosen, strip

    @cached_property
    def _place(self) -> np.ndarray:
        """(n,) indices of the voxels of all nodes along the axis, on rank 0."""
        return whole_nodes(self._sim.core).coordinates()[:, self._axis].copy()


def common_slope(x: np.ndarray, y: np.ndarray, group: np.ndarray) -> tuple[float, float]:
    """Slope of parallel lines through groups of points, numbered from 0, that is the likeliest if each group scatters
    about its own line, so that a connected fluid, whose pressure is smooth, counts for more than blobs; and how far
    the slopes of the groups lie from it, 0 of one group. NaN where there is none."""
    slopes, weights, least = [], [], LEAST_SCATTER * float(y.var() if y.size else 0.0) or 1.0
    for own in (group == number for number in np.unique(group)):
        away, apart = x[own] - x[own].mean(), y[own] - y[own].mean()
        square = float((away**2).sum())
        if square == 0.0:
            continue
        slopes.append(float((away * apart).sum()) / square)
        weights.append(square / max(float(((apart - slopes[-1] * away) ** 2).mean()), least))
    if not slopes:
        return nan, nan
    slope = float(np.average(slopes, weights=weights))
    return slope, float(np.sqrt(np.average((np.array(slopes) - slope) ** 2, weights=weights)))


def gradient_alone(case: Case, inlet: str, communicator, signals: StopSignals) -> tuple[float, float] | None:
    """Pressure gradient [Pa/m] of a case of one fluid, as of :class:`Gradient`, once it changes by no more
    than ``ALONE_WITHIN`` of itself between looks, or after the steps of the case; and that change over it. None if a
    signal asked to stop. Raises InputError: the pressure does not fall."""
    with Simulation(case, communicator=communicator) as sim:
        gradient, window, now, change = Gradient(sim, inlet), max(sim.core.numerics.steps // LOOKS, 1), inf, inf
        n_agreeing = 0
        nowhere = np.zeros(sim.core.domain.n_nodes, dtype=bool)
        sim.step(sim.core.case.run.ramp_steps)
        for _ in range(LOOKS):
            if not step_unless_stopped(sim, window, signals):
                return None
            before, (now, _) = now, gradient(nowhere)
            change = abs(now - before) / abs(now) if now else inf
            n_agreeing = n_agreeing + 1 if change <= ALONE_WITHIN else 0
            if n_agreeing == AGREEING:
                break
        n_steps = sim.step_number
    if not now > 0.0:
        raise InputError(
            f"drainage: the pressure of the first fluid alone does not fall from openings.{inlet} through the middle of"
            f" the rock in {n_steps:,} steps ({now:.3g} Pa/m); give more run.steps"
        )
    return now, change


def with_permeabilities(looks: np.ndarray, alone: float) -> np.ndarray:
    """Looks (n, 8) of :meth:`SaturationSteps._looks` with relative permeabilities in the place of flows, (n, 7). They
    are those of the mean flows and the mean gradient, since the ratios of looks with little of it would rule their
    mean; a look counts to first order. NaN where the pressure does not fall. ``alone``: gradient of the first
    fluid alone [Pa/m]."""
    mean, found = looks.mean(axis=0), looks[:, :7].copy()
    gradient = mean[6] if mean[6] > 0.0 else nan
    k = alone / gradient * mean[2:4]
    found[:, 2:4] = k + (alone * looks[:, 2:4] - k * looks[:, 6:7]) / gradient
    found[:, 4:6] *= alone / gradient
    found[:, 6] = looks[:, 7] / gradient
    return found


class SaturationSteps(Steps):
    """Saturations of the first fluid, which the share of the second one in what enters holds. Once a saturation is met
    twice in a row, with no more on its way than enters in a look, or one fluid alone enters and the saturation stays,
    and once with the looks of the means both together have gone through ``LONG`` lengths of the rock, relative
    permeabilities follow from means over time: with the flow rate q_i of fluid i through the rock,
    its viscosity nu_i and the pressure gradient g, and those of the first fluid alone,

        k_i = (q_i nu_i / g) / (q_alone nu_1 / g_alone),

    where q_i is the mean of what enters and of what leaves the rock. Their standard errors count in half the difference
    of these two, and the errors of the gradients. A saturation has settled if its mean meets it, too,
    behind so many lengths.

    The flow rate into the rock is that at the inlet, less what the reservoir between gains. The share makes up for what
    is missing in the rock and not on its way already, held by that reservoir above its mean over a time in which
    ``THROUGH`` of its volumes flow.

    Args:
        sim, fluids, inlet, within, signals: as of :class:`Steps`.
        alone: the pressure gradient of the first fluid alone at the same flow rate [Pa/m], and its relative error.
        left: mean share of the second fluid in what has left at earlier points.
    """

    def __init__(self, sim, fluids, inlet, within, signals, alone: tuple[float, float], left: float):
        super().__init__(sim, fluids, inlet, within, signals)
        self._alone, self._left, self._gradient = alone, left, Gradient(self._sim, self._inlet)
        self._window = max(self._n_most // HELD_LOOKS, 1)
        self._key = f"openings.{self._inlet}.{self._fluids.entering}"
        self._usual = 0.0  # mean of what is held ahead of the rock

    def at(self, point: float) -> dict | None:
        """The row of the table for a saturation; None if a signal asked to stop. Collective."""
        sim, n_agreeing, n_alone, n_stuck, fastest, change = self._sim, 0, 0, 0, 0.0, inf
        self._rise()
        first, before, held, per_window = sim.step_number, self.saturation(), self._held(), self._pore_volumes()
        self._usual = self._left * self._ahead[1]
        share = self._share(before - point, held, per_window)
        n_looks, n_least = 0, LONG / per_window - MEAN_LOOKS
        while self._goes_on(first, max(n_agreeing, n_stuck) if n_looks >= n_least else 0):
            n_looks += 1
            sim.change({self._key: share})
            now = self._next(self._window)
            if now is None:
                return None
            fastest = max(fastest, self.capillary_number())
            rest, change = rest_of_change(change, now - before), now - before
            n_alone = n_alone + 1 if share in (0.0, 1.0) else 0
            is_there = n_alone * per_window > self._ahead[1]  # what enters has come through the reservoir
            n_stuck = n_stuck + 1 if is_there and rest <= STUCK * self._within else 0
            held, then = self._held(), held
            enters = share - (held - then) / per_window
            self._remember(enters + change / per_window, held, per_window)
            is_met = abs(now - point) <= self._within and self._on_its_way(held) <= per_window
            n_agreeing = n_agreeing + 1 if is_met else 0
            share, before = self._share(now - point, held, per_window), now
        looks = self._looks(point, per_window)
        if looks is None:
            return None
        mean, error = mean_and_error(with_permeabilities(looks, self._alone[0]))
        is_known = bool(abs(mean[0] - point) <= self._within and np.isfinite(mean).all())
        is_settled = n_agreeing >= AGREEING and n_looks >= n_least and is_known
        found = self._row(first, float(mean[0]), float(error[0]), is_settled, fastest)
        k, of_scatter, of_balance, of_gradient = mean[2:4], error[2:4], mean[4:6], np.hypot(self._alone[1], mean[6])
        of_k = np.sqrt(of_scatter**2 + of_balance**2 + (of_gradient * k) ** 2)
        found |= zip(PERMEABILITIES, np.stack([k, of_k], axis=1).reshape(-1).tolist(), strict=True)
        gone = per_window * (sim.step_number - first) / self._window
        found |= {"second_share": float(mean[1]), LEFT: self._left, LENGTHS: gone}
        return found | {"pressure_drop_pa": self._pressure_drop_pa()}

    @cached_property
    def _ahead(self) -> tuple[np.ndarray | slice, float]:
        """(n,) mask of the nodes between inlet and rock, on rank 0, and their number over that of the rock's."""
        core, chosen, over = self._sim.core, slice(None), None
        if core.communicator.rank == 0:
            chosen = ~self._in_rock & self._gradient.is_ahead()
            over = float(np.count_nonzero(chosen) / np.count_nonzero(self._in_rock))
        return chosen, core.communicator.broadcast(over)

    def _held(self) -> float:
        """Volume of the second fluid between inlet and rock over that of the pores of the rock, on every rank."""
        chosen, over = self._ahead
        if not over:
            return 0.0
        core = self._sim.core
        return over * core.communicator.broadcast(self._fluids.saturation(core, chosen))

    def _share(self, missing: float, held: float, pore_volumes: float) -> float:
        """Share of the second fluid in what enters: what has left, and a part of what is missing in the rock, and not
        on its way, over what enters."""
        return min(max(self._left + GAIN * (missing - self._on_its_way(held)) / pore_volumes, 0.0), 1.0)

    def _on_its_way(self, held: float) -> float:
        """Volume of the second fluid ahead of the rock above its mean, over that of the pores of the rock."""
        return held - self._usual

    def _remember(self, leaves: float, held: float, pore_volumes: float) -> None:
        """Count a share of the second fluid in what leaves the rock, and what is held ahead of it, in their means."""
        self._left = min(max(MEMORY * self._left + (1.0 - MEMORY) * leaves, 0.0), 1.0)
        weight = max(MEMORY, 1.0 - pore_volumes / max(THROUGH * self._ahead[1], pore_volumes))
        self._usual = weight * self._usual + (1.0 - weight) * held

    def _looks(self, point: float, per_window: float) -> np.ndarray | None:
        """Saturation of the first fluid, share of the second one in what enters, flows of both times their viscosities
        over those of the first fluid alone, half of what they change by from what enters to what leaves, and the
        gradient and its error, at each look, (n, 8); None if a signal asked to stop."""
        sim, looks = self._sim, [(self.saturation(), nan, self._held(), nan, nan)]
        nu_1, nu_2 = self._fluids.viscosities_m2_s(sim.core.case)
        for _ in range(MEAN_LOOKS):
            before, _, held, *_ = looks[-1]
            share = self._share(before - point, held, per_window)
            sim.change({self._key: share})
            now = self._next(self._window)
            if now is None:
                return None
            looks.append((now, share, self._held(), *self._gradient(self._fluids.is_second(sim.core))))
            enters = share - (looks[-1][2] - held) / per_window
            self._remember(enters + (now - before) / per_window, looks[-1][2], per_window)
        saturation, shares, held_then, gradient, of_gradient = np.array(looks).T
        enter = shares[1:] - np.diff(held_then) / per_window
        leave = enter + np.diff(saturation) / per_window
        flowing, half = 0.5 * (enter + leave), 0.5 * (enter - leave)  # mean of what enters and of what leaves
        flows = 1.0 - flowing, flowing * nu_2 / nu_1, half, half * nu_2 / nu_1
        return np.stack([saturation[1:], shares[1:], *flows, gradient[1:], of_gradient[1:]], axis=1)

    def _pore_volumes(self) -> float:
        """Volume that enters in a window of time, over that of the pores of the rock."""
        core, told = self._sim.core, self._sim.core.openings()
        if core.communicator.rank:
            return core.communicator.broadcast(None)
        pores_m3 = np.count_nonzero(self._in_rock) * core.header.spacing_m**3
        entered = abs(told[self._inlet].flow_rate_m3_s) * self._window * core.units.time_step_s
        return core.communicator.broadcast(float(entered / pores_m3))

    def _pressure_drop_pa(self) -> float:
        """Mean pressure of the inlet over that of the others, which is the same at all of them."""
        core, told = self._sim.core, self._sim.core.openings()
        if core.communicator.rank:
            return core.communicator.broadcast(None)
        others = [each.mean_pressure_pa for name, each in told.items() if name != self._inlet]
        return core.communicator.broadcast(float(told[self._inlet].mean_pressure_pa - np.mean(others)))
