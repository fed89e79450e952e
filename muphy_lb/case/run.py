"""Sections of the case file about a run: its start, its length, and how it is computed."""

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from muphy_lb.base.registry import key_classes, offered
from muphy_lb.case.choice import OneOf
from muphy_lb.case.section import AtLeastOne, AtLeastZero, Duration, Positive, Section, Vector, exactly_one

ALTERNATIVES = (
    ("velocity_m_s", "velocity_file"),
    ("pressure_pa", "pressure_file", "density_kg_m3", "density_file"),
)


class _Start(Section):
    velocity_m_s: Vector | None = None
    """velocity (x, y, z) [m/s] everywhere"""
    velocity_file: str | None = None
    """velocity [m/s] at every node: .npy, .vti or .vtkhdf, relative to the case file"""
    pressure_pa: float | None = None
    """pressure [Pa] everywhere; it includes flow.reference_pressure_pa"""
    pressure_file: str | None = None
    """pressure [Pa] at every node, as velocity_file"""
    density_kg_m3: Positive | None = None
    """density [kg/m3] everywhere, instead of the pressure"""
    density_file: str | None = None
    """density [kg/m3] at every node, as velocity_file"""
    file: str | None = None
    """fields.vtkhdf of an earlier run, on any grid: all fields of its last snapshot that no other key gives"""
    stress: bool = True
    """whether the populations have the viscous stress of the velocity field"""
    consistent_pressure: bool = False
    """compute the pressure from the velocity (Mei et al. 2006), so that no sound starts; without openings"""


class InitialSection(*key_classes("InitialKeys"), _Start):  # type: ignore[misc]  # bases are known at run time
    """The initial state of the flow, instead of rest; openings rise from rest unless run.ramp_steps is 0."""

    @classmethod
    def rules(cls, given):
        """Check that each field is given once, and no pressure that is to be computed."""
        yield from super().rules(given)
        for keys in ALTERNATIVES:
            there = [key for key in keys if key in given]
            if len(there) > 1:
                yield f"has {' and '.join(there)}; give one of them"
        if given.get("consistent_pressure") is True:
            there = [key for key in ALTERNATIVES[1] if key in given]
            if there:
                yield f"has consistent_pressure and {there[0]}; give one of them"


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
    """Length of the run, and criteria to stop early."""

    steps: AtLeastOne | None = None
    """number of time steps"""
    time_s: Positive | None = None
    """physical time [s]"""
    wall_time: Duration | None = None
    """clock time HH:MM:SS after which to stop, as a string"""
    frozen_after_s: Positive | None = None
    """time [s] after which the flow is frozen and only species and age are advanced, for a flow that is then steady"""
    frozen_step_s: Positive | None = None
    """largest time step [s] of species and age in the frozen flow; the step is as long as speeds, diffusivities and
    rates allow, at most this, and a multiple of that of the flow"""
    replayed_instants: Annotated[int, Field(ge=8, le=10_000)] | None = None
    """for a flow driven by waveforms: number of instants at which the beat before frozen_after_s is stored, to be
    repeated from then on; needs memory for three numbers per node and instant"""
    ramp_steps: AtLeastZero = 200
    """steps over which values of openings and moving walls rise smoothly from rest, before whose end no flow is called
    steady; 0 = at once"""
    steady_tolerance: Annotated[Positive, Field(le=LARGEST_TOLERANCE)] | None = None
    """relative change of the watched quantities per characteristic time below which the run ends; without
    steady_time_s also the change of flow rates that is still to come, with it that of the permeability; at most 0.1,
    usually 1e-3 or less"""
    steady_interval_steps: AtLeastOne = 200
    """steps between two evaluations of the change"""
    steady_time_s: Positive | None = None
    """characteristic time [s]; without it the interval between two evaluations"""
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
        if "frozen_step_s" in given and "frozen_after_s" not in given:
            yield "has frozen_step_s but no frozen_after_s, the time from which on the flow is frozen: give both"
        if "replayed_instants" in given and "frozen_after_s" not in given:
            yield "has replayed_instants but no frozen_after_s, the time from which on a beat is replayed: give both"
        if given.keys() >= {"steady_tolerance", "periodic_tolerance"}:
            yield "has steady_tolerance and periodic_tolerance; a pulsating flow is never steady: give one of the two"
        watched, told = given.get("steady_watch") or FLOW_MONITORED, "which a frozen flow meets at once"
        if given.keys() >= {"frozen_after_s", "periodic_tolerance"}:
            yield f"has frozen_after_s and periodic_tolerance, {told}: give one of the two"
        if given.keys() >= {"frozen_after_s", "steady_tolerance"} and not set(FLOW_MONITORED).isdisjoint(watched):
            yield f"has frozen_after_s and steady_tolerance, {told}: give one of them, or steady_watch = ['dispersion']"

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


Speeds = Annotated[tuple[Positive, ...], Field(strict=False)]


def _zero_or_more_than_1(limit: float) -> float:
    if limit != 0.0 and not limit > 1.0:
        raise ValueError("must be 0, for never, or more than 1, the load of equal ranks")
    return limit


class ComputeSection(Section):
    """Computation of the flow; does not change the physics."""

    longest = MappingProxyType({"rank_speeds": 100_000})

    backend: Annotated[str, OneOf("muphy_lb.backends", "BACKENDS", ("auto",))] = "auto"
    """device that runs the kernels"""
    precision: Annotated[str, OneOf("muphy_lb.base.precision", "PRECISIONS")] = "fp32"
    """type of the stored populations; fp16 is computed with in fp32"""
    streaming: Annotated[str, OneOf("muphy_lb.domain.streaming", "STREAMINGS")] = "pull"
    """gather before or scatter after the collision, or in place, which takes half the memory"""
    order: Annotated[str, OneOf("muphy_lb.domain.local", "ORDERS")] = "lexicographic"
    """order of the nodes of a rank"""
    transport: Annotated[str, OneOf("muphy_lb.parallel.choice", "TRANSPORTS")] = "auto"
    """how GPUs of different ranks exchange halos; auto takes the fastest that works"""
    partition: str = "auto"
    """distribution of the nodes among ranks: a method, a stored partitioning, or auto, the shortest predicted step"""
    rank_speeds: Speeds = ()
    """relative speeds of the ranks, by which nodes are shared; empty if they are equal"""
    rebalance: Annotated[float, AfterValidator(_zero_or_more_than_1)] = 1.3
    """load of the fullest rank over the mean above which nodes are redistributed among the ranks, where physics moves
    the load, as particles do; 0 for never"""
    rebalance_every_steps: AtLeastOne = 500
    """steps between two checks of the loads"""
