"""A beat of a flow that repeats itself, stored at some instants; behind its end scalars are carried by its replay.

Between two instants the momentum is the cubic through the four around them, those beyond the end of the beat being
those of its beginning. A wave that n instants sample is off by 0.023 (2 pi / n)^4 of its amplitude at most: 6e-4 for
16, 4e-5 for 32.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.model.action import Action
from muphy_lb.model.flow import Flow
from muphy_lb.model.model import Course, Field, FieldValue, Stage, Value
from muphy_lb.operators.observers import CARRYING_FIELDS, N_AXES, WALLED
from muphy_lb.operators.replay import FIRST, N_INSTANTS, N_TERMS, ROW, STORED, WEIGHTS, replay

LEAST_INSTANTS = 8
UNSETTLED = 0.01
"""Largest difference between the last two beats, over the largest momentum, of a flow that repeats itself."""


class Beat(Action):
    """Stores the last beat ahead of a step, and how much it differs from the one before.

    Args:
        last: step at which it ends.
        period: steps of a beat, not necessarily a whole number.
        n_instants: at how many instants it is stored.
        time_step_s: step of the flow [s].
        row: length of the fields of a rank.
    """

    name = "beat"
    single = ("stored", "differs", "largest", "belongs_to")

    def __init__(self, last: int, period: float, n_instants: int, time_step_s: float, row: int):
        self.last, self._period, self.n_instants, self._time_step_s = last, period, n_instants, time_step_s
        self._row = row
        self._steps = np.floor(last - period * np.arange(n_instants)[::-1] / n_instants + 0.5).astype(np.int64)
        before = np.floor(self._steps - period + 0.5).astype(np.int64)
        self._all = np.concatenate((before, self._steps))
        self._begin()

    def _begin(self) -> None:
        self._n_stored, self._differs, self._largest = 0, 0.0, 0.0

    @property
    def first(self) -> int:
        """The first step that is stored, almost two beats ahead of the last."""
        return int(self._all[0])

    @property
    def difference(self) -> float:
        """Largest difference of the momentum in the last beat from the beat before, over the largest momentum."""
        return self._differs / self._largest if self._largest > 0.0 else 0.0

    @property
    def largest(self) -> float:
        """Largest speed in the beat [voxels a step]."""
        return self._largest

    def stored_by(self, flow: Flow) -> Flow:
        """The flow that stores the beat, and is replayed where it is frozen."""
        axes = CARRYING_FIELDS[: flow.lattice.dimension]
        fields = [Field(name, is_state=True, n_rows=self.n_instants) for name in STORED[: len(axes)]]
        values: dict[str, Value] = {name: FieldValue(name) for name in STORED[: len(axes)]}
        values |= {name: FieldValue(name, is_new=True) for name in axes}
        values |= {FIRST: Course(self._first_instant), N_INSTANTS: np.int64(self.n_instants), ROW: np.int64(self._row)}
        values |= {name: Course(partial(self._weight, k)) for k, name in enumerate(WEIGHTS)}
        stored = tuple(each.name for each in fields)
        stage = Stage("replay", (replay(len(axes)),), values, reads=stored, writes=axes)
        flow = flow.with_fields(*fields).with_actions(self)
        return replace(flow, frozen=(*flow.frozen, stage))

    def check(self) -> None:
        """Raise InputError: the beat is not complete, or differs too much from the one before."""
        last_s = self.last * self._time_step_s
        later_s = last_s + 2.0 * self._period * self._time_step_s
        if self._n_stored < self._all.size:
            raise InputError(
                f"run.replayed_instants: the run does not hold the two beats ahead of run.frozen_after_s = {last_s:.6g}"
                f" at these instants; set run.frozen_after_s = {later_s:.6g} or two beats after its present time"
            )
        if not self.difference <= UNSETTLED:
            raise InputError(
                f"run.frozen_after_s = {last_s:.6g}: the flow does not repeat itself by then; its last two beats differ"
                f" by {100.0 * self.difference:.2g} % of the largest velocity, and at most {100.0 * UNSETTLED:g} % are"
                f" allowed for a replay; set run.frozen_after_s = {later_s:.6g} or later"
            )

    def next_step(self, step: int) -> float:
        """The next step to store."""
        place = np.searchsorted(self._all, step, side="right")
        return float(self._all[place]) if place < self._all.size else np.inf

    def act(self, rank, step: int) -> None:
        """Store the momentum, in place of that of the beat before, and see how they differ."""
        number = int(np.searchsorted(self._all, step))
        if number != self._n_stored:  # the run began, or was changed, in the middle
            return
        is_last, instant = divmod(number, self.n_instants)
        largest, squares = rank.communicator.maximum, 0.0
        for axis, (name, stored) in enumerate(zip(CARRYING_FIELDS, STORED, strict=True)):
            row = f"{stored}_{instant}"
            if not rank.has(row):  # of the third axis in a plane
                continue
            now = rank.get(name)
            if is_last:
                before = self._of_the_beat_before(rank, stored, instant)
                self._differs = max(self._differs, largest(float(np.abs(now - before).max(initial=0.0))))
                squares = squares + (now.astype(np.float64) / _times(rank, axis)) ** 2
            rank.set(row, now)
        if is_last:
            self._largest = max(self._largest, largest(float(np.sqrt(np.max(squares, initial=0.0)))))
        self._n_stored += 1

    def _of_the_beat_before(self, rank, stored: str, instant: int) -> np.ndarray:
        """(n,) momentum a whole beat ahead of an instant: between two steps it is on the way to the next one stored."""
        exact = self._steps[instant] - self._period
        late = exact - self._all[instant]
        here = rank.get(f"{stored}_{instant}").astype(np.float64)
        if abs(late) < 1e-6:
            return here
        aside = 1 if late > 0.0 else -1
        away = abs(late) * self.n_instants / self._period
        return here + away * (rank.get(f"{stored}_{(instant + aside) % self.n_instants}") - here)

    def state(self) -> dict[str, np.ndarray]:
        """How much is stored, of which beat, and what has been seen of it."""
        belongs_to = np.array([self.last, self.n_instants, self._period])
        found = {"stored": self._n_stored, "differs": self._differs, "largest": self._largest}
        return {name: np.array([value]) for name, value in found.items()} | {"belongs_to": belongs_to}

    def restore(self, rank, state) -> None:
        """Continue from it, if it is of the same beat."""
        self._begin()
        if np.array_equal(state["belongs_to"], self.state()["belongs_to"]):
            self._n_stored = int(state["stored"][0])
            self._differs, self._largest = float(state["differs"][0]), float(state["largest"][0])

    def _between(self, time_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(K,) number of the instant at or ahead of each time at the middle of a step [s], and (4, K) times of the four
        around it, from that time on, in steps."""
        # what a flow stores behind step n has carried scalars from n - 1 to n
        step = self.last - self._period + np.mod(np.asarray(time_s) / self._time_step_s + 0.5 - self.last, self._period)
        count, offsets = self.n_instants, np.arange(N_TERMS) - 1
        instant = np.searchsorted(self._steps, step + 1e-6, side="right") - 1
        beats, place = np.divmod(instant + offsets[:, None], count)
        return instant, self._steps[place] + beats * self._period - step

    def _first_instant(self, time_s: np.ndarray) -> np.ndarray:
        """(K,) number of the first of four instants."""
        instant, _ = self._between(time_s)
        return np.mod(instant - 1, self.n_instants).astype(np.float64)

    def _weight(self, k: int, time_s: np.ndarray) -> np.ndarray:
        """(K,) weight of one of four instants: Lagrange's."""
        _, away = self._between(time_s)
        others = [j for j in range(N_TERMS) if j != k]
        return np.prod([away[j] / (away[j] - away[k]) for j in others], axis=0)


def _times(rank, axis: int) -> np.ndarray:
    """(n,) 2 where the momentum that carries is twice the own one along an axis, 1 elsewhere
    (:data:`muphy_lb.operators.observers.STORE_CARRYING`)."""
    links = rank.get(WALLED)
    return 1 + ((links ^ links >> N_AXES) >> axis & 1)
