"""End-of-run checks of a flow: balance, steadiness and density; and where it diverged, if it did.

A run is *doubtful* if a check fails: it ends as any other, with a checkpoint to continue from, and with an exit code of
its own (:data:`DOUBTFUL_EXIT_CODE`). It is *sound* only if balance, steadiness and density were all judged and none
fails; otherwise it is *not judged*. The physics decide which checks apply: a flow that never becomes steady need not be
(``becomes_steady`` of :class:`muphy_lb.physics.package.Physics`), and not every balance closes (``keeps_balance``). A
flow that a waveform drives repeats itself instead of becoming steady: its balance is that of the last whole period and
must close from the second period on, and a run of less than a period is doubtful.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf, sqrt

import numpy as np

from muphy_lb.base.registry import packages
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.observer import Observer, PeriodMean, Steadiness
from muphy_lb.measure.rounding import rounding_warnings
from muphy_lb.run.openings import Balance, balance_of, is_telling
from muphy_lb.setup.advice.plausibility import WHOLE, is_pushed
from muphy_lb.setup.advice.stability import cause_and_remedy
from muphy_lb.setup.waveforms import longest_period_s

NEAR = 3.0  # voxels from an opening within which it is named


def divergence_message(view: FlowView, velocity: np.ndarray) -> str:
    """The message of a divergence and its position: collective, the same text on every rank. ``velocity``: (3, n) of
    the local nodes, lattice units."""
    velocity = velocity.astype(np.float64)
    speed = np.sqrt(sum(component**2 for component in velocity))
    speed[~np.isfinite(speed)] = np.inf
    worst = int(np.argmax(speed))
    communicator, domain = view.communicator, view.domain
    place = int(domain.number[worst]), int(domain.voxel[worst])
    found = communicator.gather((float(speed[worst]), *place, communicator.rank))
    return communicator.broadcast(None if found is None else _describe(view, *max(found)))


def _describe(view: FlowView, speed: float, _number: int, voxel: int, rank: int) -> str:
    header, case = view.header, view.case
    xyz = voxel_coordinates(np.array([voxel]), header.shape)[0]
    x, y, z = xyz
    place = ", ".join(f"{value:.4g}" for value in header.origin_m + header.spacing_m * xyz)
    numerics, cs2 = view.numerics, float(view.lattice.cs2)
    what = "a population is not finite"
    if np.isfinite(speed):
        what = f"the Mach number is {speed / sqrt(cs2):.2g} (allowed: {case.run.max_mach:g})"
    whose = f", on rank {rank}" if view.communicator.size > 1 else ""
    fastest = numerics.mach * sqrt(cs2) if numerics.mach else None
    causes = [text for physics in view.physics for text in physics.causes()]
    pushed = is_pushed(case, header, view.conditions)
    causes.append(cause_and_remedy(case, numerics.units, fastest, numerics.reference_velocity_m_s, cs2, pushed))
    return (
        f"the run diverged at step {view.step_number}: {what} at voxel ({x}, {y}, {z}), x = ({place}) m{whose};"
        f" relaxation time {numerics.relaxation_time:.5g}{_beside_opening(view, xyz)}. The likely cause:"
        f" {'; or '.join(causes)}"
    )


def _beside_opening(view: FlowView, xyz: np.ndarray) -> str:
    """Which opening lies next to a voxel (x, y, z), as an addition to its place; empty for a voxel inside the flow."""
    header = view.header
    for opening in header.openings:
        away = (np.asarray(header.origin_m) - opening.centre_m) / header.spacing_m + xyz
        along = float(np.dot(away, opening.normal))
        across = float(np.linalg.norm(away - along * np.asarray(opening.normal)))
        if abs(along) <= NEAR and across <= opening.radius_m / header.spacing_m + NEAR:
            return f", next to opening {opening.name!r}"
    return ""


DOUBTFUL_EXIT_CODE = 6
SOUND, DOUBTFUL, NOT_JUDGED, STEADY = "sound", "doubtful", "not judged", "steady"

LARGEST_IMBALANCE = 0.01
"""Share of a steady flow that may be missing: walls between voxels lose some tenths of a percent where voxels are
fine; more is either an error of the walls, or a flow that only seems to be steady."""
LARGEST_UNWATCHED_IMBALANCE = 0.05
"""The same of a flow whose steadiness nobody has asked for: with more missing, it is still starting."""
LARGEST_DRIFT = 0.01
"""Relative change of the mass of a closed flow: it is conserved up to rounding; interpolated walls let it drift, and
what density gains, momentum and shear stress gain as well."""
LARGEST_DENSITY_CHANGE = 0.1
"""Relative change of the density up to which a flow counts as incompressible: velocities err by about as much."""


@dataclass(frozen=True)
class Findings:
    """The findings of a run."""

    balance: Balance | None  #: of the openings; None for a closed flow
    mass_drift: float  #: relative change of the mass since the start
    density_change: float  #: largest relative change of the density
    allowed_density_change: float = LARGEST_DENSITY_CHANGE  #: how much that may be
    steadiness: Steadiness | None = None  #: of the criterion, if the case has one
    keeps_balance: bool = True  #: whether as much leaves as enters once the flow is steady
    #: what a flow that a waveform drives comes to over its last period; None for others
    period: PeriodMean | None = None
    walls_rule: str = HALF_WAY  #: ``lattice.walls`` of the case
    becomes_steady: bool = True  #: whether the flow can become steady, or repeat itself
    is_driven: bool = False  #: whether a waveform drives it
    is_crossed: bool = True  #: whether more than next to nothing of what flows inside crosses the openings
    stopped_by: str = ""  #: what has ended the run before its end; empty if nothing has
    rounding: tuple[str, ...] = ()  #: errors of half precision, as objections
    unwatched: tuple[str, ...] = ()  #: quantities that a physics offers to the criterion, and the case does not watch

    @property
    def kept(self) -> Balance | None:
        """The balance, where it judges the flow."""
        return self.balance if self.keeps_balance and self.is_crossed else None

    @property
    def asked(self) -> Steadiness | None:
        """The criterion, of a flow that can meet it: one that a waveform drives is never steady."""
        found = self.steadiness
        return None if found is None or (self.is_driven and found.word == STEADY) else found


@dataclass(frozen=True)
class Verdict:
    """The verdict: findings, objections, and checks that were not made, one sentence each without a full stop."""

    findings: Findings
    objections: tuple[str, ...]
    not_judged: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The verdict: sound, doubtful or not judged."""
        return DOUBTFUL if self.objections else NOT_JUDGED if self.not_judged else SOUND

    def record(self) -> dict:
        """All of it for ``summary.json``: numbers, and the sentences that terminal and report show."""
        found = self.findings
        balance, steadiness = found.balance, found.steadiness
        return {
            "verdict": self.word,
            "objections": list(self.objections),
            "not_judged": list(self.not_judged),
            "statements": list(statements(found)),
            "balance": asdict(balance) | {"imbalance": balance.imbalance} if balance else None,
            "steadiness": asdict(steadiness) if steadiness else None,
            "largest_density_change": found.density_change,
        }


def judge(view: FlowView, observers: Sequence[Observer], go_on: str, stopped_by: str = "") -> Verdict:
    """The verdict on the flow as it is, on every rank; collective.

    Args:
        observers: of the run; one of them may have a criterion of steadiness.
        go_on: command with which a run that is not steady is continued.
        stopped_by: what has ended the run before its end, if anything has.
    """
    findings = _found(view, observers, stopped_by)
    further = [text for observer in observers for text in observer.objections()]
    verdict = Verdict(findings, (*_objections(findings, go_on), *further), tuple(_not_judged(findings)))
    return view.communicator.broadcast(verdict if view.communicator.rank == 0 else None)


def statements(findings: Findings) -> Iterator[str]:
    """The findings on balance, steadiness and density, one sentence each without a full stop."""
    balance, found = findings.balance, findings.steadiness
    if balance is None:
        yield f"balance: closed, relative change of mass {findings.mass_drift:+.2e}"
    else:
        when = " at this moment of the waveform" if findings.is_driven else ""
        if findings.is_driven and balance.period_s:
            when = f" over the last period of {balance.period_s:.4g} s"
        yield f"balance: {balance}, imbalance {_percent(abs(balance.imbalance))}{when}"
    if found is None:
        yield "steadiness: not asked for (run.steady_tolerance)"
    else:
        driven = "; a waveform drives the flow" if findings.is_driven and found.word == STEADY else ""
        yield f"steadiness: {'' if found.is_reached else 'NOT '}{found.word}, {found}{driven}"
    yield f"density: largest relative change {findings.density_change:.2g}"


def _found(view: FlowView, observers: Sequence[Observer], stopped_by: str) -> Findings:
    case = view.case
    health, density_change, balance = view.health(), view.largest_density_change(), balance_of(view)
    period = next(filter(None, [observer.period_mean() for observer in observers]), None)
    if balance and period and period.flow_rates_m3_s:
        balance = Balance.of_rates(view, period.flow_rates_m3_s, period.period_s)
    criteria = [observer.steadiness() for observer in observers]
    bounds = [physics.allowed_density_change for physics in view.physics]
    given = [bound for bound in bounds if bound is not None]
    return Findings(
        balance=balance,
        mass_drift=health.mass_drift,
        density_change=density_change,
        # The density of linear equations may be anything: it enters only by its gradient.
        allowed_density_change=inf if view.fluid.equilibrium.is_linear else max(given, default=LARGEST_DENSITY_CHANGE),
        steadiness=next((criterion for criterion in criteria if criterion), None),
        keeps_balance=all(physics.keeps_balance for physics in view.physics),
        period=period,
        walls_rule=case.lattice.walls,
        becomes_steady=all(physics.becomes_steady for physics in view.physics),
        is_driven=longest_period_s(case) > 0.0,
        is_crossed=balance is None or is_telling(view, balance, health.mean_speed),
        stopped_by=stopped_by,
        rounding=rounding_warnings(view),
        unwatched=tuple(
            name for kind in packages(case) for name in kind.monitored_in(case) if name not in case.run.steady_watch
        ),
    )


def _not_judged(findings: Findings) -> Iterator[str]:
    """The checks that were not made, and their remedies: the balance of a flow in which fluid may stay; whether a flow
    that may become steady, or repeat itself, does."""
    if findings.balance and not findings.keeps_balance:
        yield "balance: in this flow fluid may stay, or noise cross openings; the difference is reported, not judged"
    if findings.asked and findings.asked.word == STEADY:
        for name in findings.unwatched:
            yield f"steadiness of the {name}: only the flow was watched; add {name!r} to run.steady_watch"
    if findings.asked or not findings.becomes_steady:
        return
    if not findings.is_driven:
        yield "steadiness: nothing was watched; with run.steady_tolerance = 1e-4 the run ends when the flow is steady"
    elif findings.balance:
        yield (
            "repetition: no period was compared with the one before; with run.periodic_tolerance = 0.01 the run ends"
            " when the flow repeats itself"
        )
    else:
        yield "repetition: periods are compared by flow rates and pressures of openings, and there are none"


def _objections(findings: Findings, go_on: str) -> Iterator[str]:
    asked, balance = findings.asked, findings.balance
    if findings.stopped_by:
        yield f"the run was stopped by {findings.stopped_by} before its end; continue with: {go_on}"
    if asked and not asked.is_reached:
        yield f"the flow is NOT {asked.word}: {asked}; continue with: {go_on}"
    kept = findings.kept
    if kept and asked and asked.word == STEADY and abs(kept.imbalance) > LARGEST_IMBALANCE:
        text = _missing(kept)
        if asked.is_reached:
            remedy = f"go on with run.steady_tolerance = {asked.tolerance / 10.0:.1g} to see whether it stays"
            if findings.walls_rule != HALF_WAY:
                remedy += "; finer voxels, bgk or mrt, or half-way walls lose less"
            text = f"the flow counts as steady, but {text}: {remedy}"
        yield text
    # A flow that may become steady, which the case does not check, misses more than walls lose.
    is_unwatched = findings.becomes_steady and not asked and not findings.is_driven
    if kept and is_unwatched and not abs(kept.imbalance) <= LARGEST_UNWATCHED_IMBALANCE:
        yield (
            f"{_missing(kept)}: the flow is still starting, or loses fluid at its walls; continue with: {go_on}; with"
            " run.steady_tolerance = 1e-4 a run ends when the flow is steady"
        )
    yield from _objections_of_the_period(findings, go_on)
    if balance is None and not abs(findings.mass_drift) <= LARGEST_DRIFT:
        yield (
            f"the mass of a closed flow changed by {_percent(findings.mass_drift)}, allowed is"
            f" {_percent(LARGEST_DRIFT)}: half-way walls, fp64 or a shorter run lose less, and a wall whose"
            " velocity leads through its own faces lets fluid in or out"
        )
    yield from findings.rounding
    if not findings.density_change <= findings.allowed_density_change:
        shorter = sqrt(findings.density_change / findings.allowed_density_change)
        yield (
            f"the density changes by up to {100.0 * findings.density_change:.3g} %, where a flow counts as"
            f" incompressible up to {_percent(findings.allowed_density_change)}: check viscosity and pressures, or make"
            f" the time step at least {shorter + 0.05:.2g} times shorter"
        )


def _objections_of_the_period(findings: Findings, go_on: str) -> Iterator[str]:
    period, balance = findings.period, findings.kept
    if period is None:
        return
    if period.n_periods < WHOLE:
        yield (
            f"the run is shorter than the period of its waveform, {period.period_s:.4g} s: what it shows is a part of"
            f" the first one; continue with: {go_on}"
        )
    elif period.n_periods < 1.0 + WHOLE or (findings.asked and not findings.asked.is_reached):
        return  # the first period holds the start; a flow that is not periodic has been objected to
    elif balance and balance.period_s and abs(balance.imbalance) > LARGEST_IMBALANCE:
        yield (
            f"over the last period of {balance.period_s:.4g} s {_missing(balance)}: the flow is not periodic yet; go on"
            f" with: {go_on}"
        )


def _missing(balance: Balance) -> str:
    word = "less" if balance.imbalance > 0.0 else "more"
    return f"{_percent(abs(balance.imbalance))} {word} leaves than enters ({balance})"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"
