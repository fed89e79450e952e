"""The spread of an answer over blocks of each size, by which a representative volume is judged."""

from typing import NamedTuple

import numpy as np

from muphy_lb.apps.study.blocks import counts_of
from muphy_lb.apps.study.section import CROP
from muphy_lb.apps.study.table import Table


class Spread(NamedTuple):
    """An answer over the blocks of one size: edge of their geometric mean [voxels], number, mean and standard
    deviation."""

    edge: float
    n: int
    mean: float
    deviation: float


def spreads(table: Table, name: str) -> list[Spread]:
    """The spread of an answer over the blocks of each size, those of members without it left out; empty where no
    parameter is a crop."""
    design = table.members.design
    values = table.answers[name][design.drawn]
    found = [(k, each) for k, each in enumerate(table.members.asked.section.parameters) if each.key == (CROP,)]
    if not found:
        return []
    column, parameter = found[0]
    crops = list(design.values[design.drawn, column])
    corners = np.array(crops, dtype=np.float64)
    edges = np.prod(corners[:, 1] - corners[:, 0], axis=1) ** (1.0 / 3.0)
    sizes = np.round(edges) if parameter.blocks is None else -np.array(counts_of(parameter, crops))
    known = np.isfinite(values)
    chosen = [known & (sizes == size) for size in np.unique(sizes)]
    return [_spread(edges[mine], values[mine]) for mine in chosen if mine.any()]


def _spread(edges: np.ndarray, values: np.ndarray) -> Spread:
    """The spread over blocks of one size; a single one has no deviation."""
    deviation = values.std(ddof=1) if values.size > 1 else 0.0
    return Spread(float(edges.mean()), values.size, float(values.mean()), float(deviation))
