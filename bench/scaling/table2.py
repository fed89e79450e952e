"""Reproduction of Table II of the MUPHY paper: an irregular vessel of 4 million nodes on several GPUs.

Bernaschi, Fatica, Melchionna, Succi, Kaxiras, Concurrency Computat.: Pract. Exper. 22 (2010; online 2009),
doi 10.1002/cpe.1466: 4 million fluid nodes in all, D3Q19 BGK in single precision, 10 000 iterations. Its vessel is not
at hand; the built-in one with as many nodes takes its place.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from muphy_lb.bench.scaling.study import Point

NAME, GEOMETRY, SIZE = "table2", "artery", 47
STEPS, RUNS = 10_000, 1


@dataclass(frozen=True)
class Published:
    """A value of the paper: million node updates per second of a number of GPUs in all."""

    n_cards: int
    card: str
    mflups: float


PUBLISHED = (Published(1, "C870", 53.0), Published(2, "GT200", 252.0), Published(8, "GT200", 955.0))
HEADER = f"{'GPUs':>5}  {'':<44} {'nodes':>10} {'MFLUPS':>10} {f's for {STEPS:,} steps':>18} {'of one C870':>12}"


def text(points: Sequence[Point]) -> str:
    """The paper's figures and ours, one line each."""
    head = "Bernaschi et al. 2009, Table II: irregular vessel, 4 million nodes in all"
    rows = [_row(item.n_cards, item.card, None, item.mflups) for item in PUBLISHED]
    for point in points:
        travels = f", {point.transport}" if point.ranks > 1 else ""
        ours = f"{point.device}, {point.variant.precision} {point.variant.streaming}{travels}"
        rows.append(_row(point.ranks, ours, point.n_nodes, point.mflups))
    steps = min((point.n_steps for point in points), default=STEPS)
    notes = "the paper's vessel is not at hand, ours is the built-in artery"
    if steps < STEPS:
        notes += f"\nours: timed over {steps:,} steps, of the paper's {STEPS:,}; the seconds are scaled from them"
    return "\n".join([head, HEADER, *rows, notes])


def record() -> dict:
    """The paper's figures as a plain dictionary."""
    return {"source": "Bernaschi et al. 2009, Table II", "steps": STEPS, "rows": [asdict(item) for item in PUBLISHED]}


def _row(n_gpus: int, what: str, n_nodes: int | None, mflups: float) -> str:
    nodes = f"{n_nodes:,}" if n_nodes else "4 million"
    seconds = f"{1e-6 * STEPS * (n_nodes or 4e6) / mflups:,.1f}"
    return f"{n_gpus:>5}  {what:<44} {nodes:>10} {mflups:>10,.0f} {seconds:>18} {mflups / PUBLISHED[0].mflups:>11,.4g}x"
