"""What the end of a run is worth: what was found of balance, steadiness and density, and what speaks against it.

A run is *sound* where nothing does, else *doubtful*: it ends as any other, with a checkpoint to continue from, and with
an exit code of its own (:data:`DOUBTFUL_EXIT_CODE`). A flow that changes by itself is not doubtful for that: where no
steadiness was asked for, and where a waveform drives the flow, the balance is told and not judged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf, sqrt

from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.case.case import Case
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer, Steadiness

DOUBTFUL_EXIT_CODE = 6
SOUND, DOUBTFUL = "sound", "doubtful"

LARGEST_IMBALANCE = 0.01
"""Share of a steady flow that may be missing: walls between voxels lose some tenths of a percent where voxels are
fine; more is either an error of the walls, or a flow that only seems to be steady."""
LARGEST_DRIFT = 0.01
"""Relative change of the mass of a closed flow: it is conserved up to rounding; interpolated walls let it drift, and
what density gains, momentum and shear stress gain as well."""
LARGEST_DENSITY_CHANGE = 0.1
"""Relative change of the density up to which a flow counts as incompressible: velocities err by about as much."""


@dataclass(frozen=True)
class Findings:
    """What a run came to.

    Attributes:
        inflow_m3_s: all that enters through openings [m3/s]; None for a closed flow.
        outflow_m3_s: all that leaves through openings [m3/s]; None for a closed flow.
        mass_drift: relative change of the mass since the start.
        density_change: largest relative change of the density.
        allowed_density_change: how much that may be.
        steadiness: of the criterion, if the case has one.
        keeps_balance: whether as much leaves as enters once the flow is steady.
        is_driven_in_time: whether a waveform drives the flow.
        walls_rule: ``lattice.walls`` of the case.
    """

    inflow_m3_s: float | None
    outflow_m3_s: float | None
    mass_drift: float
    density_change: float
    allowed_density_change: float = LARGEST_DENSITY_CHANGE
    steadiness: Steadiness | None = None
    keeps_balance: bool = True
    is_driven_in_time: bool = False
    walls_rule: str = HALF_WAY

    @property
    def imbalance(self) -> float | None:
        """Difference of inflow and outflow over the larger of them; None without a flow through openings."""
        larger = max(self.inflow_m3_s or 0.0, self.outflow_m3_s or 0.0)
        return abs(self.inflow_m3_s - self.outflow_m3_s) / larger if larger > 0.0 else None

    @property
    def is_to_be_steady(self) -> bool:
        """Whether steadiness was asked for, of a flow that can be steady."""
        return self.steadiness is not None and not self.is_driven_in_time


@dataclass(frozen=True)
class Verdict:
    """What was found and what speaks against it, one sentence each without a full stop."""

    findings: Findings
    objections: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing speaks against the result."""
        return not self.objections

    def record(self) -> dict:
        """All of it for ``summary.json``: numbers, and the sentences that terminal and report show."""
        found = self.findings
        steadiness = asdict(found.steadiness) if found.steadiness else None
        return {
            "verdict": SOUND if self.is_sound else DOUBTFUL,
            "objections": list(self.objections),
            "statements": list(statements(found)),
            "inflow_m3_s": found.inflow_m3_s,
            "outflow_m3_s": found.outflow_m3_s,
            "imbalance": found.imbalance,
            "steadiness": steadiness,
            "largest_density_change": found.density_change,
        }


def judge(view: FlowView, observers: Sequence[Observer], go_on: str) -> Verdict:
    """The verdict on the flow as it is, on every rank; collective.

    Args:
        view: the flow.
        observers: of the run; one of them may have a criterion of steadiness.
        go_on: command with which a run that is not steady is continued.
    """
    findings = _found(view, observers)
    verdict = Verdict(findings, tuple(_objections(findings, go_on)))
    return view.communicator.broadcast(verdict if view.communicator.rank == 0 else None)


def flows_m3_s(view: FlowView) -> tuple[float, float] | None:
    """All that enters, and all that leaves through openings [m3/s], on rank 0; None without openings; collective."""
    states = view.openings() if view.header.openings else None
    if not states:
        return None
    entering = [state.flow_rate_m3_s * (1.0 if state.kind == "inlet" else -1.0) for state in states.values()]
    return sum(rate for rate in entering if rate > 0.0), -sum(rate for rate in entering if rate < 0.0)


def statements(findings: Findings) -> Iterator[str]:
    """What was found of balance, steadiness and density, one sentence each without a full stop."""
    if findings.inflow_m3_s is None:
        yield f"balance: closed, relative change of mass {findings.mass_drift:+.2e}"
    else:
        share = "" if findings.imbalance is None else f", imbalance {_percent(findings.imbalance)}"
        yield f"balance: {findings.inflow_m3_s:.5g} m3/s in, {findings.outflow_m3_s:.5g} m3/s out{share}"
    yield f"steadiness: {_steadiness_text(findings)}"
    yield f"density: largest relative change {findings.density_change:.2g}"


def _steadiness_text(findings: Findings) -> str:
    if findings.steadiness is None:
        return "not asked for (run.steady_tolerance)"
    driven = "; a waveform drives the flow" if findings.is_driven_in_time else ""
    return f"{'steady' if findings.steadiness.is_reached else 'NOT steady'}, {findings.steadiness}{driven}"


def _found(view: FlowView, observers: Sequence[Observer]) -> Findings:
    case = view.case
    health, density_change, flows = view.health(), view.largest_density_change(), flows_m3_s(view)
    criteria = [observer.steadiness() for observer in observers]
    bounds = [physics.allowed_density_change for physics in view.physics]
    given = [bound for bound in bounds if bound is not None]
    inflow, outflow = flows or (None, None)
    return Findings(
        inflow_m3_s=inflow,
        outflow_m3_s=outflow,
        mass_drift=health.mass_drift,
        density_change=density_change,
        # The density of linear equations may be anything: it enters only by its gradient.
        allowed_density_change=inf if view.fluid.equilibrium.is_linear else max(given, default=LARGEST_DENSITY_CHANGE),
        steadiness=next((criterion for criterion in criteria if criterion), None),
        keeps_balance=all(physics.keeps_balance for physics in view.physics),
        is_driven_in_time=_is_driven_in_time(case),
        walls_rule=case.lattice.walls,
    )


def _is_driven_in_time(case: Case) -> bool:
    return any(section.waveform is not None for section in (*case.openings, *case.walls, case.flow))


def _objections(findings: Findings, go_on: str) -> Iterator[str]:
    """What speaks against a result, and a remedy."""
    if findings.is_to_be_steady and not findings.steadiness.is_reached:
        yield f"the flow is NOT steady: {findings.steadiness}; go on with: {go_on}"
    if findings.is_to_be_steady and findings.keeps_balance and (findings.imbalance or 0.0) > LARGEST_IMBALANCE:
        yield _missing_flow(findings)
    if findings.inflow_m3_s is None and not abs(findings.mass_drift) <= LARGEST_DRIFT:
        yield (
            f"the mass of a closed flow changed by {_percent(findings.mass_drift)}, allowed is"
            f" {_percent(LARGEST_DRIFT)}: half-way walls, fp64 or a shorter run lose less"
        )
    if not findings.density_change <= findings.allowed_density_change:
        shorter = sqrt(findings.density_change / findings.allowed_density_change)
        yield (
            f"the density changes by up to {_percent(findings.density_change)}, where a flow counts as incompressible"
            f" up to {_percent(findings.allowed_density_change)}: check viscosity and pressures, or take a time step"
            f" {shorter:.2g} times as short"
        )


def _missing_flow(findings: Findings) -> str:
    inflow, outflow = findings.inflow_m3_s, findings.outflow_m3_s
    word = "less" if inflow > outflow else "more"
    text = f"{_percent(findings.imbalance)} {word} leaves than enters ({inflow:.5g} m3/s in, {outflow:.5g} m3/s out)"
    if not findings.steadiness.is_reached:
        return text
    smaller = f"go on with run.steady_tolerance = {findings.steadiness.tolerance / 10.0:.1g} to see whether it stays"
    if findings.walls_rule == HALF_WAY:
        return f"the flow is called steady, but {text}: {smaller}"
    return f"the flow is called steady, but {text}: {smaller}; finer voxels, bgk or mrt, or half-way walls lose less"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"
