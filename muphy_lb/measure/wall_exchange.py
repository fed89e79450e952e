"""The contract of scalars that walls take up or give off, as commands that move these walls see them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from muphy_lb.measure.flow_view import FlowView, SettableFlow


class WallLinks(NamedTuple):
    """Links along axes into a wall."""

    voxel: np.ndarray  #: (S,) ids of the voxels of their nodes
    vector: np.ndarray  #: (S, 3) from there into the wall, x, y, z
    entering: np.ndarray  #: (S,) amount a second that enters the fluid through each [unit m3/s]
    area_m2: np.ndarray  #: (S,) true area of the wall of each


@dataclass(frozen=True)
class WallExchange:
    """An attribute of a physics whose scalars pass through walls; the calls are collective."""

    names: Callable[[FlowView], tuple[str, ...]]  #: names of the scalars, fields of the model in their SI unit
    #: the links into a wall for a scalar, by their names, on rank 0; none where the wall has no condition for it
    links: Callable[[FlowView, str, str], WallLinks | None]
    overwrite: Callable[[SettableFlow, str, np.ndarray | None], None]  #: a scalar by (n,) values, on rank 0
