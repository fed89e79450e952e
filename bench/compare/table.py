"""A comparison as text and as records for JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from muphy_lb.bench.compare.study import AGREEMENT_STEPS, RUNS, Agreement, Timing

HEADER = (
    f"{'size':>6} {'nodes':>11} {'precision':>9} {'backend':>7} {'s/1000 steps':>12} {'MFLUPS':>9} {'speed-up':>9}"
    f" {'steps timed':>11}"
)


def row(timing: Timing) -> str:
    """One line below HEADER."""
    return (
        f"{timing.size:>6} {timing.n_fluid:>11,} {timing.precision:>9} {timing.backend:>7}"
        f" {timing.seconds_per_1000_steps:>12.4g} {timing.mflups:>9.4g} {timing.speed_up:>9.4g} {timing.steps:>11,}"
    )


def notes(timings: Sequence[Timing], unusable: Mapping[str, str]) -> str:
    """What the numbers of the table mean, the devices, and the backends that could not run. ``timings``: at least one;
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
    """One line a comparison of velocities."""
    if not agreements:
        return "agreement: not checked, there is only one backend to run"
    head = f"largest velocity difference after {AGREEMENT_STEPS} steps at size {agreements[0].size} [lattice units]:"
    return "\n".join([head, *(f"  {_agreement_line(agreement)}" for agreement in agreements)])


def record(title: str, timings: Sequence[Timing], unusable: Mapping[str, str], agreements: Sequence[Agreement]) -> dict:
    """The whole comparison as plain dictionaries, lists, numbers and texts."""
    return {
        "title": title,
        "reference": timings[0].backend,
        "timings": [asdict(timing) for timing in timings],
        "unusable": dict(unusable),
        "agreements": [asdict(agreement) | {"passed": agreement.passed} for agreement in agreements],
    }


def _agreement_line(agreement: Agreement) -> str:
    verdict = "agree" if agreement.passed else "DIFFER"
    return (
        f"{agreement.precision} {agreement.backend} and {agreement.reference}: {agreement.difference:.2g}"
        f" (bound {agreement.bound:g}, top speed {agreement.top_speed:.2g}): {verdict}"
    )
