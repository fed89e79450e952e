"""Measurements as text and as records for JSON."""

import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import muphy_lb
from muphy_lb.bench.stream import Measurement

HEADER = (
    f"{'precision':<9} {'streaming':<9} {'order':<13} {'MFLUPS':>9} {'(low-high)':>15} {'B/update':>8} {'TB/s':>6}"
    f" {'copy':>6} {'share':>6} {'B/node':>7} {'table':>6} {'runs':>5} {'launch us':>9} {'shape':>12} {'registers':>9}"
    f" {'local B':>7}"
)
LEGEND = (
    "B/update: bytes that a node update moves, tables and fields included; share: of the copy bandwidth, measured"
    " beside it;\n"
    "B/node: all device memory; table: bytes a node of it that hold addresses; runs: of a table, for a warp and a"
    " direction;\nlaunch us: host time to enqueue a step"
)


def head(title: str, published: str | None, measurement: Measurement) -> str:
    """The heading of the rows."""
    m = measurement
    ranks = "1 rank" if m.ranks == 1 else f"{m.ranks} ranks"
    lines = [
        f"{title}: {m.n_fluid:,} nodes in {' x '.join(f'{edge:,}' for edge in m.box)} voxels,"
        f" {m.n_steps} steps, {ranks}",
        f"{m.kernel} on {m.device}",
    ]
    lines += [f"published: {published}"] if published else []
    return "\n".join([*lines, HEADER])


def row(m: Measurement) -> str:
    """One line below HEADER."""
    spread = f"({m.mflups_low:.4g}-{m.mflups_high:.4g})"
    return (
        f"{m.precision:<9} {m.streaming:<9} {m.order:<13} {m.mflups:>9.5g} {spread:>15} {m.bytes_per_update:>8.1f}"
        f" {m.moved_tb_s:>6.3f} {m.copy_tb_s:>6.3f} {m.fraction:>6.1%} {m.bytes_per_node:>7.1f}"
        f" {m.table_bytes_per_node:>6.1f} {known(m.runs_per_warp, '.2f'):>5} {known(m.launch_us, '.2f'):>9}"
        f" {known(m.shape):>12} {known(m.registers):>9} {known(m.local_bytes):>7}"
    )


def known(value, form: str = "") -> str:
    """The value in a format, a dash where there is none."""
    return "-" if value is None else format(value, form)


def record(title: str, device: str, measurements: Sequence[dict]) -> dict:
    """A whole benchmark as plain dictionaries, lists, numbers and texts."""
    return {
        "title": title,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": muphy_lb.__version__,
        "commit": commit(),
        "device": device,
        "measurements": list(measurements),
    }


def commit() -> str | None:
    """``git describe`` of the checkout that runs; None where the program is installed, or git is missing."""
    checkout = Path(muphy_lb.__file__).resolve().parents[1]
    if not (checkout / ".git").exists():
        return None
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--tags"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
