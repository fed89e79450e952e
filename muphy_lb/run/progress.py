"""Progress of a run: a bar on a terminal and in a notebook, else lines; and the clock behind it."""

import logging
import time
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

from muphy_lb.base.units import time_in_words
from muphy_lb.engine.engine import n_occupied
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.records import Health
from muphy_lb.output.terminal import ProgressBar
from muphy_lb.run.changes import Rebalancing
from muphy_lb.run.openings import balance_of
from muphy_lb.run.solver import Solver
from muphy_lb.setup.waveforms import longest_period_s


@dataclass
class Looks:
    """How long a look at the flow takes that comes after every so many steps."""

    every: int
    seconds: float = 0.0
    count: int = 0


@dataclass
class Clock:
    """Wall time since the start, the time and steps spent stepping, and the time spent on looks. Of steps that are
    longer than those of the flow, ``steps`` counts the latter, and ``updates_of_each``, of every node, the former."""

    started: float = field(default_factory=time.perf_counter)
    stepping_s: float = 0.0
    steps: int = 0
    updates_of_each: int = 0
    updates: float = 0.0
    looks: dict[Hashable, Looks] = field(default_factory=dict)
    _counted: tuple[int, int | None] = (0, None)

    def count(self, n_occupied: int | None) -> None:
        """Take note of the number of nodes with fluid; between two counts their mean is assumed. None: all have."""
        step, before = self._counted
        if n_occupied is not None:
            self.updates += (self.steps - step) * 0.5 * (n_occupied + (n_occupied if before is None else before))
        self._counted = self.steps, n_occupied

    @contextmanager
    def look(self, who: Hashable, every: int) -> Iterator[None]:
        """Context of a look that ``who`` takes every so many steps."""
        began = time.perf_counter()
        yield
        looks = self.looks.setdefault(who, Looks(every))
        looks.seconds += time.perf_counter() - began
        looks.count += 1

    def remaining_s(self, step: int, last: int) -> float:
        """The duration of the steps to come, with all looks that have been taken at least once [s]."""
        of_looks = sum(
            each.seconds / each.count * (last // each.every - step // each.every) for each in self.looks.values()
        )
        return (last - step) * self.stepping_s / max(self.steps, 1) + of_looks

    @property
    def occupied_mflups(self) -> float | None:
        """Million updates per second of stepping of nodes with fluid; None if all have fluid."""
        if self._counted[1] is None:
            return None
        return self.updates / self.stepping_s / 1e6 if self.stepping_s else 0.0

    @property
    def wall_time_s(self) -> float:
        """Seconds since the clock was made."""
        return time.perf_counter() - self.started

    @property
    def steps_per_s(self) -> float:
        """Steps of this run per second of wall time, with all that is written and drawn on the way."""
        return self.steps / self.wall_time_s

    def mflups(self, n_nodes: int) -> float:
        """Million fluid-node updates per second of stepping, output excluded."""
        return self.updates_of_each * n_nodes / self.stepping_s / 1e6 if self.stepping_s else 0.0


LOG = logging.getLogger(__name__)
ESTIMATED_AFTER_S = 10.0
"""Wall time after which the time of a run is estimated, although some looks at the flow have not come yet."""
WORTH_TELLING_S = 2.0  # least estimate that is shown
BAR_EVERY_S = 0.5  # longest time between two texts at a bar


class Progress:
    """Tells how far a run is, how fast, and what its observers have to say of the flow.

    Args:
        observers: of the run; those that come later are asked as well.
        is_shown: whether there is a bar on rank 0; None: where somebody sees it.
    """

    def __init__(
        self,
        simulation: Solver,
        observers: Sequence[Observer],
        rebalancing: Rebalancing,
        clock: Clock,
        is_shown: bool | None,
    ):
        self._simulation, self._observers, self._rebalancing, self._clock = simulation, observers, rebalancing, clock
        self._is_driven = longest_period_s(simulation.case) > 0.0
        self._is_estimated = False
        self._root, self._last_told = simulation.communicator.rank == 0, time.perf_counter()
        last, may_end_early = simulation.numerics.steps, simulation.case.run.may_end_early
        shown = is_shown if self._root else False
        self._bar = ProgressBar(simulation.step_number, last, shown, may_end_early)

    def follow(self, simulation: Solver, observers: Sequence[Observer], rebalancing: Rebalancing) -> None:
        """Tell of these from now on."""
        self._simulation, self._observers, self._rebalancing = simulation, observers, rebalancing

    def __enter__(self) -> "Progress":
        self._bar.__enter__()
        if self._bar.is_drawn:
            self._last_told = -inf  # at the first look
        return self

    def __exit__(self, *error) -> None:
        self._bar.__exit__(*error)

    def move(self) -> None:
        """Let the bar grow to the present step."""
        self._bar.move_to(self._simulation.step_number)

    def is_due(self) -> bool:
        """Whether the next message is due, by the clock of this rank."""
        every_s = self._simulation.case.output.progress_every_s
        if self._bar.is_drawn:
            every_s = min(every_s, BAR_EVERY_S)
        return time.perf_counter() - self._last_told >= every_s

    def estimate(self) -> None:
        """Tell once how long the run will take, as soon as every look at the flow has been timed, or after some
        seconds, if a while is left then."""
        intervals = {each.every for each in self._observers if 0 < each.every <= self._simulation.numerics.steps}
        all_timed = intervals <= {looks.every for looks in self._clock.looks.values()}
        if self._is_estimated or not self._root or not (all_timed or self._clock.wall_time_s > ESTIMATED_AFTER_S):
            return
        self._is_estimated, remaining_s = True, self._remaining_s
        if remaining_s > WORTH_TELLING_S and not self._bar.is_drawn:
            looks = "all looks at it" if all_timed else "the looks at it so far"
            LOG.info(
                "estimated time: %s%s for the %d steps that are left, measured on %d steps of this flow with %s; files"
                " and pictures of the end come on top",
                self._at_most,
                time_in_words(remaining_s),
                self._simulation.numerics.steps - self._simulation.step_number,
                self._clock.steps,
                looks,
            )

    def tell(self, health: Health) -> None:
        """Tell of the present step; collective."""
        self._last_told, simulation, clock = time.perf_counter(), self._simulation, self._clock
        balance = self._balance(health)
        clock.count(occupied(simulation))
        if not self._root:
            return
        velocity_m_s = simulation.units.velocity_to_si(health.max_speed)
        told = "".join(f" | {text}" for observer in self._observers if (text := observer.status()))
        flow = f"max velocity {velocity_m_s:.4g} m/s | {balance}{told}{self._rebalancing.status()}"
        fluid = clock.occupied_mflups
        of_fluid = "" if fluid is None else f" ({fluid:.1f} of nodes with fluid)"
        speed = f"{clock.mflups(simulation.header.n_nodes):.1f} MFLUPS{of_fluid}"
        if self._bar.is_drawn:
            self._bar.tell(speed, flow)
            return
        step, last = simulation.step_number, simulation.numerics.steps
        eta = f"ETA {self._at_most}{time_in_words(self._remaining_s)}"
        LOG.info("step %d/%d (%.1f %%) | %s | %s | %s", step, last, 100 * step / last, speed, eta, flow)

    def _balance(self, health: Health) -> str:
        """The balance by which the flow is judged: inflow less outflow, where a waveform drives it both, since their
        difference at one moment is that of sound; of a closed one the mass; collective."""
        balance = balance_of(self._simulation)
        if balance is None:
            return f"mass drift {health.mass_drift:+.2e}"
        if self._is_driven:
            return str(balance)
        return f"inflow - outflow {100.0 * balance.imbalance:+.3g} %"

    @property
    def _at_most(self) -> str:
        return "at most " if self._simulation.case.run.may_end_early else ""

    @property
    def _remaining_s(self) -> float:
        return self._clock.remaining_s(self._simulation.step_number, self._simulation.numerics.steps)


def occupied(simulation: Solver) -> int | None:
    """Number of nodes with fluid on all ranks; None if all have; collective."""
    return simulation.communicator.total(n_occupied(simulation.engine)) if simulation.engine.model.occupied else None
