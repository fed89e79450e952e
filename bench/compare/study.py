"""One flow in several sizes on several backends: their speed, and whether they compute the same flow. The idea of the
study is that of Bang and Salomonsen: the same small flows as interpreted array code and on a GPU."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from types import MappingProxyType

import numpy as np

from muphy_lb.case.case import Case
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver

MIN_STEPS = 10
RUNS = 3  # of which the median counts: a shared machine disturbs single ones
AGREEMENT_STEPS = 100
# Compilers fuse operations differently: the round-off of 100 steps, as in the parity tests.
BOUNDS: Mapping[str, float] = MappingProxyType({"fp64": 1e-12, "fp32": 2e-6, "fp16": 2e-4})


@dataclass(frozen=True)
class ComparisonPlan:
    """The measurements of a comparison; the first of ``backends`` is the reference."""

    backends: tuple[str, ...]  # names of backends that can be used here
    sizes: tuple[int, ...]  # values of ``geometry.options.size``
    precisions: tuple[str, ...]  # names of :data:`muphy_lb.base.precision.PRECISIONS`
    steps: int  # most steps of one run
    seconds: float  # time for the runs of one measurement [s]; passed only where MIN_STEPS steps take longer
    impossible: frozenset[tuple[str, str]] = frozenset()  # pairs of a backend and a precision that it does not support

    def backends_in(self, precision: str) -> tuple[str, ...]:
        """The backends that can do a precision, the reference first."""
        return tuple(backend for backend in self.backends if (backend, precision) not in self.impossible)


@dataclass(frozen=True)
class Timing:
    """Speed of one backend for the flow of one size."""

    size: int
    precision: str
    backend: str
    device: str  # name of the backend's device
    n_fluid: int  # number of fluid nodes
    steps: int  # steps of each run, of which ``seconds_per_1000_steps`` is scaled
    seconds_per_1000_steps: float  # median of the runs [s], compilation excluded
    mflups: float  # million fluid-node updates per second
    speed_up: float = 1.0  # how many times faster than the reference at the same size and precision


@dataclass(frozen=True)
class Agreement:
    """Difference of the velocities of a backend from those of the reference after equal steps [lattice units]."""

    backend: str
    reference: str
    precision: str
    size: int
    steps: int
    difference: float
    top_speed: float
    bound: float

    @property
    def passed(self) -> bool:
        """Whether the difference is within round-off; false for NaN."""
        return self.difference <= self.bound


def variant(case: Case, size: int, backend: str, precision: str) -> Case:
    """The case with another size, on another backend."""
    options = {**case.geometry.options, "size": size}
    return case.model_copy(
        update={
            "geometry": case.geometry.model_copy(update={"options": options}),
            "compute": case.compute.model_copy(update={"backend": backend, "precision": precision}),
        }
    )


def time_all(case: Case, plan: ComparisonPlan, report: Callable[[Timing], None]) -> list[Timing]:
    """Time every size in every precision on every backend, the reference first. ``case``: the flow; its size, backend
    and precision do not count; ``plan``: what to compare; ``report``: called with each timing when it is measured.
    Raises MuphyError: the flow cannot be run at one of the sizes."""
    timings = []
    for size, precision in product(plan.sizes, plan.precisions):
        reference = None
        for backend in plan.backends_in(precision):
            timing = time_one(variant(case, size, backend, precision), plan.steps, plan.seconds)
            reference = reference or timing
            speed_up = reference.seconds_per_1000_steps / timing.seconds_per_1000_steps
            timings.append(replace(timing, speed_up=speed_up))
            report(timings[-1])
    return timings


def time_one(case: Case, max_steps: int, seconds: float) -> Timing:
    """Median speed of a few runs of a case on its backend, after it is compiled and has made its first steps. ``case``:
    the case, with a ``size``; ``max_steps``: most steps of one run; ``seconds``: time for all runs together [s]. Raises
    MuphyError: the case cannot be run, or diverges."""
    simulation = Solver(case, SerialCommunicator())
    n_fluid = simulation.header.n_nodes
    fitting = int(seconds / RUNS * 1e6 * simulation.timed_mflups(MIN_STEPS) / n_fluid)
    steps = min(max_steps, max(MIN_STEPS, fitting))
    mflups = statistics.median(simulation.timed_mflups(steps) for _ in range(RUNS))
    simulation.health()
    return Timing(
        size=case.geometry.options["size"],
        precision=case.compute.precision,
        backend=case.compute.backend,
        device=simulation.engine.backend.device,
        n_fluid=n_fluid,
        steps=steps,
        seconds_per_1000_steps=1e-3 * n_fluid / mflups,
        mflups=mflups,
    )


def check_agreement(case: Case, plan: ComparisonPlan) -> Iterator[Agreement]:
    """Compare the velocities of every backend with the reference's, at the smallest size, after the same steps."""
    size = min(plan.sizes)
    for precision in plan.precisions:
        reference, *others = plan.backends_in(precision)
        if not others:
            continue
        expected = _velocity(variant(case, size, reference, precision))
        for backend in others:
            found = _velocity(variant(case, size, backend, precision))
            yield Agreement(
                backend=backend,
                reference=reference,
                precision=precision,
                size=size,
                steps=AGREEMENT_STEPS,
                difference=float(np.abs(found - expected).max()),
                top_speed=float(np.linalg.norm(expected, axis=0).max()),
                bound=BOUNDS[precision],
            )


def run_to_end(case: Case) -> Solver:
    """The case after its own number of steps. Raises MuphyError: the case cannot be run, or diverges."""
    simulation = Solver(case, SerialCommunicator())
    while (left := simulation.numerics.steps - simulation.step_number) > 0:
        simulation.step(min(case.run.check_interval_steps, left))
        simulation.health()
    return simulation


def _velocity(case: Case) -> np.ndarray:
    """(3, n) float64 velocity [lattice units] some steps after the start from rest."""
    simulation = Solver(case, SerialCommunicator())
    simulation.step(AGREEMENT_STEPS)
    return simulation.engine.moments()[1:].astype(np.float64)


def fastest(timings: list[Timing]) -> Timing:
    """The timing with most node updates per second at the largest size."""
    largest = max(timing.size for timing in timings)
    return max((timing for timing in timings if timing.size == largest), key=lambda timing: timing.mflups)


HEADER = (
    f"{'size':>6} {'nodes':>11} {'precision':>9} {'backend':>7} {'s/1000 steps':>12} {'MFLUPS':>9} {'speed-up':>9}"
    f" {'steps timed':>11}"
)
Published = Mapping[str, Mapping[int, float]]  # seconds of 1000 steps in a paper, by backend and size


def header(published: Published) -> str:
    """The heading of the rows."""
    return f"{HEADER} {'published':>9}" if published else HEADER


def row(timing: Timing, published: Published = MappingProxyType({})) -> str:
    """Row of the table."""
    seconds = published.get(timing.backend, {}).get(timing.size)
    beside = f" {'-' if seconds is None else format(seconds, '.4g'):>9}" if published else ""
    return (
        f"{timing.size:>6} {timing.n_fluid:>11,} {timing.precision:>9} {timing.backend:>7}"
        f" {timing.seconds_per_1000_steps:>12.4g} {timing.mflups:>9.4g} {timing.speed_up:>9.4g} {timing.steps:>11,}"
        f"{beside}"
    )


def notes(timings: Sequence[Timing], unusable: Mapping[str, str]) -> str:
    """Notes on the numbers of the table, the devices, and the backends that could not run. ``timings``: at least one;
    the first is of the reference; ``unusable``: reason for each backend that was asked for and cannot be used here."""
    devices = {timing.backend: timing.device for timing in timings}
    return "\n".join(
        [
            f"s/1000 steps: the median of {RUNS} runs of the steps timed, scaled to 1000 steps; compilation excluded",
            f"speed-up: against {timings[0].backend} at the same size and precision",
            *(f"{backend}: {device}" for backend, device in devices.items()),
            *(f"{backend}: not timed: {reason}" for backend, reason in unusable.items()),
        ]
    )


def agreement_text(agreements: Sequence[Agreement]) -> str:
    """Comparison of velocities, one line each."""
    if not agreements:
        return "agreement: not checked, there is only one backend to run"
    lines = [f"largest velocity difference after {AGREEMENT_STEPS} steps at size {agreements[0].size} [lattice units]:"]
    for each in agreements:
        lines.append(
            f"  {each.precision} {each.backend} and {each.reference}: {each.difference:.2g} (bound {each.bound:g},"
            f" top speed {each.top_speed:.2g}): {'agree' if each.passed else 'DIFFER'}"
        )
    return "\n".join(lines)


def record(title: str, timings: Sequence[Timing], unusable: Mapping[str, str], agreements: Sequence[Agreement]) -> dict:
    """The whole comparison as plain dictionaries, lists, numbers and texts."""
    return {
        "title": title,
        "reference": timings[0].backend,
        "timings": [asdict(timing) for timing in timings],
        "unusable": dict(unusable),
        "agreements": [asdict(agreement) | {"passed": agreement.passed} for agreement in agreements],
    }
