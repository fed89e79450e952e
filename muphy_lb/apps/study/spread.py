"""The spread of an answer over blocks of each size, by which a representative volume is judged."""

from typing import NamedTuple

import numpy as np

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
    design, values = table.members.design, table.answers[name]
    columns = [k for k, each in enumerate(table.members.asked.section.parameters) if each.key == (CROP,)]
    if not columns:
        return []
    corners = np.array(list(design.values[:, columns[0]]), dtype=np.float64)
    edges = np.prod(corners[:, 1] - corners[:, 0], axis=1) ** (1.0 / 3.0)
    sizes, known = np.round(edges / edges.max(), 1), np.isfinite(values)
    return [
        Spread(float(edges[mine].mean()), int(mine.sum()), float(values[mine].mean()), float(values[mine].std()))
        for size in np.unique(sizes)
        if (mine := known & (sizes == size)).any()
    ]
