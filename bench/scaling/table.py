"""A scaling study as text."""

from muphy_lb.bench.scaling.modes import MEANING
from muphy_lb.bench.scaling.study import Point

HEADER = (
    f"{'ranks':>5} {'transport':>10} {'precision':>9} {'streaming':>9} {'nodes':>14} {'a rank':>12} {'MFLUPS':>8}"
    f" {'(low-high)':>15} {'speed-up':>8} {'effic.':>6} {'ms/step':>8} {'halo kB':>8} {'edge':>6} {'compute':>8}"
    f" {'pack':>7} {'exchange':>8}"
)
LEGEND = (
    "nodes: of all ranks, and the mean per rank; MFLUPS: million node updates per second of all ranks, median of the"
    " runs;\nspeed-up: ranks times efficiency; efficiency: MFLUPS per rank over those on the fewest ranks;"
    " halo kB: most that a rank sends in a step;\nedge: share of nodes that wait for messages or openings;"
    " compute, pack, exchange: ms per step of each on the slowest rank for it"
    "\n(pack: with unpacking; exchange: messages and waiting); where they overlap, their sum exceeds ms/step"
)


def head(title: str, mode: str, point: Point) -> str:
    """The heading of the rows."""
    box = " x ".join(f"{edge:,}" for edge in point.box)
    nodes = f"{point.n_nodes:,} nodes in {box} voxels on {point.ranks} rank{'s' * (point.ranks > 1)}"
    effort = f"median of {point.n_runs} runs of {point.n_steps:,} steps"
    lines = [
        f"{title}: {nodes}, {effort}",
        f"{mode} scaling: {MEANING[mode]}",
        f"{point.kernel} on {point.device}",
        HEADER,
    ]
    return "\n".join(lines)


def row(point: Point) -> str:
    """One line below HEADER."""
    spread = f"({_rate(point.mflups_low)}-{_rate(point.mflups_high)})"
    compute, pack, exchange = (1e3 * seconds for seconds in point.split_s.values())
    return (
        f"{point.ranks:>5} {point.transport:>10} {point.variant.precision:>9} {point.variant.streaming:>9}"
        f" {point.n_nodes:>14,} {point.nodes_per_rank:>12,.0f} {_rate(point.mflups):>8} {spread:>15}"
        f" {point.speed_up:>8.3f} {point.efficiency:>6.1%} {1e3 * point.step_s:>8.4g}"
        f" {1e-3 * point.most_halo_bytes:>8.4g} {point.edge_share:>6.2%} {compute:>8.4g} {pack:>7.3g} {exchange:>8.3g}"
    )


def _rate(mflups: float) -> str:
    return f"{mflups:.0f}" if mflups >= 1000.0 else f"{mflups:.4g}"
