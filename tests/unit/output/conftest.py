"""Small geometries in node-list form."""

import numpy as np
import pytest

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.voxels import Opening


def node_list(fluid, spacing_m=1e-3, openings=(), order=None) -> NodeList:
    """Nodes of a (nz, ny, nx) bool array; ``order`` permutes them, as groups do."""
    voxel = np.flatnonzero(fluid)
    voxel = voxel if order is None else voxel[order]
    starts = np.array([0] + [voxel.size] * (1 + len(openings)))
    none = np.empty(0, dtype=np.int64)
    origin_m, periodic = (0.1, 0.2, 0.3), (False, False, False)
    return NodeList(
        voxel, starts, fluid.shape, spacing_m, origin_m, periodic, tuple(openings), none, none.astype(np.uint8)
    )


@pytest.fixture
def blob() -> NodeList:
    """About half of the voxels of a 4 x 5 x 6 box, in shuffled order."""
    random = np.random.default_rng(3)
    fluid = random.random((4, 5, 6)) < 0.5
    return node_list(fluid, order=random.permutation(np.count_nonzero(fluid)))


@pytest.fixture
def sheet() -> NodeList:
    """A two-dimensional channel of 40 x 10 nodes with a hole and two openings."""
    fluid = np.ones((1, 10, 40), dtype=bool)
    fluid[0, 4:6, 10:12] = False
    ends = (
        Opening("in", "inlet", (0.1, 0.205, 0.3), (1, 0, 0)),
        Opening("out", "outlet", (0.14, 0.205, 0.3), (-1, 0, 0)),
    )
    return node_list(fluid, openings=ends)


@pytest.fixture
def tube() -> NodeList:
    """A round tube of radius 6 and length 40 along x with an inlet and an outlet."""
    z, y, _ = np.mgrid[:14, :14, :40]
    fluid = (z - 6.5) ** 2 + (y - 6.5) ** 2 < 36
    centre_m = (0.2065, 0.3065)
    ends = (
        Opening("in", "inlet", (0.1, *centre_m), (1, 0, 0), 6e-3),
        Opening("out", "outlet", (0.14, *centre_m), (-1, 0, 0)),
    )
    return node_list(fluid, openings=ends)
