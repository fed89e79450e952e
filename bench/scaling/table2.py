"""Reproduction of the several-GPU runs of the MUPHY paper: a vessel of 4 million nodes (Table II), and a regular box.

Bernaschi, Fatica, Melchionna, Succi, Kaxiras, Concurrency Computat.: Pract. Exper. 22 (2010; online 2009),
doi 10.1002/cpe.1466: D3Q19 BGK in single precision; the vessel for 10 000 iterations, 256 x 128 x 128 nodes for 1000.
Its vessel is not at hand; the built-in one with as many nodes takes its place.
"""

from collections.abc import Sequence
from typing import NamedTuple

from muphy_lb.bench.built_in import built_in_table
from muphy_lb.bench.papers import published
from muphy_lb.bench.papers.table import PaperTable, Rows
from muphy_lb.bench.scaling.study import Point

GEOMETRY, SIZE, RUNS = "artery", 47, 1
BOX = (256, 128, 128)


class Preset(NamedTuple):
    """A run of the paper."""

    table: PaperTable
    steps: int
    n_nodes: float


PRESETS = {
    "table2": Preset(published.TABLE_II, 10_000, 4e6),
    "table2-box": Preset(published.BOX_RUN, 1000, float(BOX[0] * BOX[1] * BOX[2])),
}


def case_table(name: str, size: int | None) -> dict:
    """The case of a preset as nested tables. ``size``: voxels across the radius of the vessel, or along y and z of
    the box, half of those along x; the paper's if None."""
    if name == "table2":
        return built_in_table(GEOMETRY, size or SIZE)
    box = BOX if size is None else (2 * size, size, size)
    table = built_in_table("box", None)
    options = {"shape_zyx": list(box[::-1]), "porosity": 1.0}
    return table | {"title": " x ".join(map(str, box)), "geometry": table["geometry"] | {"options": options}}


def rows(name: str, points: Sequence[Point]) -> Rows:
    """GPUs, million updates per second, and seconds of as many steps and nodes as in the paper."""
    preset, found = PRESETS[name], {}
    for point in points:
        travels = f", {point.transport}" if point.ranks > 1 else ""
        label = f"{point.variant.precision} {point.variant.streaming}{travels} ({point.ranks})"
        found[label] = (float(point.ranks), point.mflups, 1e-6 * preset.steps * preset.n_nodes / point.mflups)
    return found


def steps_note(name: str, points: Sequence[Point]) -> str:
    """A line where fewer steps were timed than in the paper, else an empty text."""
    steps, asked = min(point.n_steps for point in points), PRESETS[name].steps
    return f"timed over {steps:,} steps, of the paper's {asked:,}; the seconds are scaled from them" * (steps < asked)
