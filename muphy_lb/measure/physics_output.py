"""Quantities of a physics that measurements read: fields, scalars at probes, particles."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from muphy_lb.measure.flow_view import FlowView
    from muphy_lb.output.pictures.sight import Sight


class FromStored(NamedTuple):
    """How a scalar follows at every node from fields of the model there: their names, and its SI values from theirs."""

    fields: tuple[str, ...]
    in_si: Callable[..., np.ndarray]


class OutputField(NamedTuple):
    """A field of the field files: its unit, and its (n, ...) values in node-list order on rank 0 (None elsewhere),
    collective; ``at_nodes`` where it can also be had at some nodes alone, as pictures of a run in progress need it."""

    unit: str
    values: "Callable[[FlowView], np.ndarray | None]"
    at_nodes: FromStored | None = None


class DrawnParticles(NamedTuple):
    """Particles of a set that pictures of a run in progress draw: those for which ``are_drawn(*columns)`` holds, of
    their columns with these names; all of them if it is not given."""

    columns: tuple[str, ...] = ()
    are_drawn: Callable[..., np.ndarray] | None = None


class ProbedScalar(NamedTuple):
    """A field that probes record: its name in the model, the name of its column, and its SI value from the stored
    one."""

    field: str
    column: str
    in_si: Callable[[np.ndarray], np.ndarray]


class MeasuredPhysics(Protocol):
    """A physics as measurements and the judgement of a run see it.

    :class:`muphy_lb.physics.package.Physics` describes the attributes.
    """

    @property
    def name(self) -> str:
        """Name of its section in the case file."""

    @property
    def output_fields(self) -> Mapping[str, OutputField]:
        """Fields that every field file holds, by name."""

    @property
    def probed(self) -> Sequence[ProbedScalar]:
        """Scalars that probes record in addition to velocity and pressure."""

    @property
    def draws_frames(self) -> bool:
        """Whether an observer of its own draws the frames."""

    @property
    def cut_field(self) -> str | None:
        """Output field that determines the cut that is drawn; None: the speed."""

    @property
    def volume_fraction(self) -> str | None:
        """Output field with the share of every voxel that is filled; None: all voxels are full."""

    @property
    def keeps_balance(self) -> bool:
        """Whether as much leaves through openings as enters once the flow is steady."""

    @property
    def becomes_steady(self) -> bool:
        """Whether the flow can become steady, or repeat the period of a waveform."""

    @property
    def allowed_density_change(self) -> float | None:
        """Relative change of the density up to which a result is not doubtful; None for that of any flow."""

    def warnings(self) -> tuple[str, ...]:
        """Reasons to expect that the run may diverge, or that its result may be wrong."""

    def monitored(self, view: "FlowView") -> dict[str, Callable[[], dict[str, float]]]:
        """Functions that measure the quantities that a run may watch, by name; collective."""

    def sight(self) -> "Sight | None":
        """The vertical of its pictures and their most telling cut; None if it makes no difference."""
