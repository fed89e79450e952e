"""Messages between a run and the process of its page. The run sends the records below, pickled. The page only answers
with :class:`Answer`, as JSON, which is checked: what comes from browsers never reaches the run in any other form."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from math import isfinite

import numpy as np

from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.measure.monitor import RunStatus
from muphy_lb.output.pictures.cut import Sight
from muphy_lb.output.pictures.projection import CoarseGrid

MOST_DEMANDS = 8
CHANGE = "change"
GO_BACK = "go back"
COMMANDS = ("pause", "go on", "step", "checkpoint", GO_BACK, "stop", CHANGE)
BODY, CUT = "body", "cut"
RUNNING, PAUSED, ENDED = "running", "paused", "ended"
WAITING = "waiting for more steps"


@dataclass(frozen=True)
class Demand:
    """The picture and the values to show."""

    field: str  #: name of the scalar
    place: str  #: ``BODY``, the fluid seen from outside, with values on a coarse grid, or ``CUT``, a layer of voxels
    #: axis, index: 0, 1, 2 for a cut normal to x, y, z, and the layer of voxels; 0 for the body
    axis: int = 0
    index: int = 0


@dataclass(frozen=True)
class Picture:
    """The picture that answers a demand."""

    demand: Demand  #: what was asked for
    shape: tuple[int, ...]  #: of the image, or of the grid
    #: where, values: (k,) flat positions in it, and SI values there; nan where there is no fluid
    where: np.ndarray
    values: np.ndarray
    fraction: np.ndarray | None = None  #: (k,) share of each voxel that is filled; None if all are full
    points: np.ndarray | None = None  #: (3, m) voxel coordinates (x, y, z) of particles; None if there are none


@dataclass(frozen=True)
class CutFrame:
    """The image of a cut: first and last voxel along its columns and rows, and voxels along the edge of a pixel."""

    low: tuple[int, int]
    high: tuple[int, int]
    stride: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        columns, rows = ((high - low) // self.stride + 1 for low, high in zip(self.low, self.high, strict=True))
        return rows, columns


@dataclass(frozen=True)
class Description:
    """The description that stays the same while a run is watched."""

    #: title, text: of the case; what runs on what
    title: str
    text: str
    header: GeometryHeader  #: the geometry without its nodes
    #: low, high: smallest and largest voxel coordinates (x, y, z) of the fluid
    low: tuple[int, int, int]
    high: tuple[int, int, int]
    frames: tuple[CutFrame, CutFrame, CutFrame]  #: the images of cuts normal to x, y, z
    units: dict[str, str]  #: unit of every field by name
    #: fields of which the body shows the largest value below its surface; of others that at the surface
    below_wall: frozenset[str]
    on_wall: frozenset[str]  #: fields that are known beside walls only
    field: str  #: name of the one to begin with
    #: grid, counts: cells all over the geometry, and flat index and number of fluid voxels of those with any
    grid: CoarseGrid
    counts: tuple[np.ndarray, np.ndarray]
    is_rock: bool  #: whether the fluid fills the pores of a block
    start: Demand  #: the cut to begin with
    style: str  #: ``"dark"`` or ``"light"``, that of the pictures of the case
    sight: Sight | None = None  #: what is up; None: z
    #: values of the case that viewers may change, by dotted key: one number, or three of a vector
    changeable: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)

    @property
    def is_flat(self) -> bool:
        """Whether the geometry is two-dimensional."""
        return self.header.shape[0] == 1


@dataclass(frozen=True)
class Update:
    """State of the run, for viewers."""

    #: step, time_s: steps made and physical time [s]
    step: int
    time_s: float
    status: RunStatus  #: its last step, and how far the criteria for a steady flow are met
    steps_per_s: float  #: steps per second of late; 0 before that is known
    state: str  #: ``RUNNING``, ``PAUSED``, ``WAITING``, or ``ENDED`` and why
    #: flow rate [m^3/s] and mean pressure [Pa] of every opening by name; empty if not measured now
    openings: dict[str, tuple[float, float]] = field(default_factory=dict)
    keeps_checkpoints: bool = False  #: whether the run writes one if that is asked for, and goes back to it
    told: str = ""  #: the outcome of the last change that a viewer has asked for


@dataclass(frozen=True)
class Answer:
    """Requests of the page to the run."""

    viewers: int  #: number of browsers that look on
    demands: tuple[Demand, ...] = ()  #: what they wait for, having none of it
    watched: tuple[Demand, ...] = ()  #: what they have before them
    command: str = ""  #: one of ``COMMANDS``; empty for none
    key: str = ""  #: of a change: what of the case
    numbers: tuple[float, ...] = ()  #: and its value
    #: what they have begun to draw, and take the next one of, at another step
    following: tuple[Demand, ...] = ()

    def to_bytes(self) -> bytes:
        """The update as JSON."""
        in_order = self.demands, self.watched, self.following
        lists = [[list(astuple(each)) for each in demands] for demands in in_order]
        return json.dumps([self.viewers, *lists, self.command, self.key, list(self.numbers)]).encode()

    @classmethod
    def from_bytes(cls, data: bytes, description: Description) -> "Answer":
        """The answer, with demands that can be met. Raises ValueError: it is none."""
        try:
            viewers, *lists, command, key, given = json.loads(data)
            demands, watched, following = (_demands(found, description) for found in lists)
            numbers = tuple(map(float, given))
            if command == CHANGE and not can_be_changed(key, numbers, description):
                command = ""
            if command != CHANGE:
                key, numbers = "", ()
            command = command if command in COMMANDS else ""
            return cls(max(int(viewers), 0), demands, watched, command, key, numbers, following)
        except (TypeError, OverflowError, RecursionError) as error:
            raise ValueError(str(error)) from error


def _demands(found, description: Description) -> tuple[Demand, ...]:
    asked = [Demand(str(name), str(place), int(axis), int(index)) for name, place, axis, index in found]
    return tuple(each for each in dict.fromkeys(asked) if can_be_met(each, description))[:MOST_DEMANDS]


def can_be_changed(key, numbers: tuple[float, ...], description: Description) -> bool:
    """Whether viewers may give a value of the case these numbers."""
    before = description.changeable.get(key) if isinstance(key, str) else None
    return before is not None and len(before) == len(numbers) and all(map(isfinite, numbers))


def can_be_met(demand: Demand, description: Description) -> bool:
    """Whether there is such a field and place."""
    if demand.field not in description.units:
        return False
    if demand.place == BODY:
        return (demand.axis, demand.index) == (0, 0) and not description.is_flat
    if demand.place != CUT or demand.axis not in (0, 1, 2):
        return False
    return description.low[demand.axis] <= demand.index <= description.high[demand.axis]
