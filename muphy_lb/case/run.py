"""The section of the case file about the length of a run."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from muphy_lb.base.registry import offered
from muphy_lb.case.section import AtLeastOne, AtLeastZero, Duration, Positive, Section, exactly_one

FLOW_MONITORED = ("mean_speed", "flow_rates", "forces", "permeability")
MONITORED = (*FLOW_MONITORED, *offered("MONITORED"))
LARGEST_TOLERANCE = 0.1
"""Of a flow that changes by more it says nothing that it is steady."""


def _not_empty(values: tuple) -> tuple:
    if not values:
        raise ValueError("must name at least one quantity")
    return values


if TYPE_CHECKING:
    Quantity = str
else:  # names that are known only when the program runs
    Quantity = Literal[*MONITORED]
Monitored = Annotated[tuple[Quantity, ...], Field(strict=False), AfterValidator(_not_empty)]


class RunSection(Section):
    """How long to run, and when to stop early."""

    steps: AtLeastOne | None = None
    """number of time steps"""
    time_s: Positive | None = None
    """physical time [s]"""
    wall_time: Duration | None = None
    """clock time HH:MM:SS after which to stop, as a string"""
    ramp_steps: AtLeastZero = 200
    """steps over which the openings' values rise smoothly from rest; 0 = at once"""
    steady_tolerance: Annotated[Positive, Field(le=LARGEST_TOLERANCE)] | None = None
    """relative change of the watched quantities per characteristic time below which the run ends; without
    steady_time_s also the change of flow rates that is still to come; at most 0.1, usually 1e-3 or less"""
    steady_interval_steps: AtLeastOne = 200
    """steps between two looks at the change"""
    steady_time_s: Positive | None = None
    """characteristic time [s]; without it the interval between two looks"""
    steady_watch: Monitored = Field(
        ("mean_speed", "flow_rates"), description=f"what is watched: {', '.join(MONITORED)}"
    )
    periodic_tolerance: Annotated[Positive, Field(le=LARGEST_TOLERANCE)] | None = None
    """change of flow rates and pressures from one beat of the waveforms to the next, of their range, at which the run
    ends; at most 0.1, usually 1e-2 or less"""
    check_interval_steps: AtLeastOne = 50
    """steps between two checks for divergence and stop requests"""
    max_mach: Positive = 0.5
    """Mach number beyond which the run is refused or stopped"""

    @classmethod
    def rules(cls, given):
        """One length of the run; a characteristic time is that of a criterion."""
        yield from exactly_one(given, "steps", "time_s")
        if "steady_time_s" in given and "steady_tolerance" not in given:
            yield "has steady_time_s but no steady_tolerance"
        if given.keys() >= {"steady_tolerance", "periodic_tolerance"}:
            yield "has steady_tolerance and periodic_tolerance; what pulsates is never steady: give one of both"

    @property
    def may_end_early(self) -> bool:
        """Whether a criterion may end the run before its last step."""
        return self.steady_tolerance is not None or self.periodic_tolerance is not None

    @property
    def wall_time_s(self) -> float | None:
        """The wall time in seconds."""
        if self.wall_time is None:
            return None
        hours, minutes, seconds = map(int, self.wall_time.split(":"))
        return 3600.0 * hours + 60.0 * minutes + seconds
