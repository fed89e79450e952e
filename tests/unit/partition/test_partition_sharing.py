"""The fluid of an image shared among ranks from Python."""

import numpy as np
import pytest

from muphy_lb import InputError, geometry, partition
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.partition import NOBODY

BOX = np.ones((4, 6, 12), bool)


@pytest.mark.parametrize("method", ["auto", "metis", "X", "tiles"])
def test_every_fluid_voxel_has_a_rank_and_no_solid_one_has(method):
    fluid = BOX.copy()
    fluid[:, 2:4, 5:7] = False
    sharing = partition.share(fluid, 3, method)
    assert ((sharing.owner == NOBODY) == ~fluid).all() and set(sharing.owner[fluid]) == {0, 1, 2}
    assert sharing.quality.n_parts == 3 and sharing.quality.imbalance < 1.2
    assert sharing.method in repr(sharing) and "imbalance" in repr(sharing)


def test_a_box_cut_across_x_crosses_one_plane_and_two_where_it_repeats():
    once, twice = partition.share(BOX, 2, "X"), partition.share(BOX, 2, "X", periodic=["x"])
    assert (once.owner[:, :, :6] == 0).all() and (once.owner[:, :, 6:] == 1).all()
    assert once.quality.edge_cut == 4 * 6 and twice.quality.edge_cut == 2 * 4 * 6
    assert partition.share(BOX, 2, "X", precision="fp64").quality.halo_bytes == 2 * once.quality.halo_bytes


def test_the_fluid_of_a_geometry_is_shared():
    image = np.zeros((4, 6, 12), np.uint8)
    image[0] = 1
    with pytest.raises(InputError, match="an array does not contain its voxel edge"):
        _ = geometry.read(image).voxels
    fluid = geometry.read(image).fluid  # needs no edge
    assert (fluid == (image == 0)).all()
    assert (partition.share(fluid, 2, "X").owner[1:] == [0] * 6 + [1] * 6).all()
    assert (partition.share(fluid, [1, 2], "X").owner[1:] == [0] * 4 + [1] * 8).all()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((BOX.astype(int), 2), {}, "truth values, such as"),
        ((BOX[0], 2), {}, r"shape \(6, 12\)"),
        ((BOX, 2), {"precision": "fp8"}, "allowed: fp64, fp32, fp16"),
        ((BOX, 2), {"backend": "gpu"}, "allowed: numpy, cpu, cuda"),
        ((BOX, 2), {"periodic": "w"}, "allowed: some of x, y, z"),
    ],
)
def test_what_is_wrong_is_named(arguments, options, message):
    with pytest.raises(PartitionError, match=message):
        partition.share(*arguments, **options)
