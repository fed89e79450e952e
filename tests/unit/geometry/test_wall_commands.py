"""Labelled walls and cut distances through ``muphy-lb geometry``, and what openings do beside labelled walls."""

import numpy as np
import pytest

from muphy_lb.geometry.__main__ import main
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.geometry.store import read_geometry
from muphy_lb.geometry.voxels import FIRST_OPENING, FLAG_DTYPE, FLUID, SOLID, Opening, Voxels, wall_flag


def test_cut_distances_are_stored_when_asked_for(tmp_path, capsys):
    words = [
        "shape:pipe",
        str(tmp_path / "a.h5"),
        "--spacing-m",
        "1",
        "--shape-option",
        "radius=4.7",
        "--cut-distances",
    ]
    assert main(words) == 0
    voxels = build_shape("pipe", radius=4.7)
    expected = cut_links(build_nodes(voxels), voxels.wall_shape).cuts
    found = read_geometry(tmp_path / "a.h5").cuts
    assert np.array_equal(found.distance, expected.distance) and np.array_equal(found.voxel, expected.voxel)
    assert f"{expected.n_links} links cut, 0 of them miss" in capsys.readouterr().out


def test_cut_distances_are_left_out_otherwise(tmp_path):
    assert main(["shape:pipe", str(tmp_path / "a.h5"), "--spacing-m", "1"]) == 0
    assert read_geometry(tmp_path / "a.h5").cuts is None


def test_voxels_without_a_true_wall_have_no_cut_distances(tmp_path, capsys):
    assert main(["shape:random_solid", str(tmp_path / "a.h5"), "--spacing-m", "1", "--cut-distances"]) == 2
    assert "--cut-distances: shape:random_solid defines only which voxels are solid" in capsys.readouterr().err


def test_wall_values_label_walls(tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.array([[1, 1, 1], [7, 7, 0]]))
    assert main([str(tmp_path / "a.npy"), str(tmp_path / "a.h5"), "--spacing-m", "1", "--wall-value", "stent=7"]) == 0
    nodes = read_geometry(tmp_path / "a.h5")
    assert [(wall.name, wall.n_voxels) for wall in nodes.walls] == [("stent", 2)]
    assert nodes.label_voxel.tolist() == [3, 4]
    assert "wall        stent: 2 voxels" in capsys.readouterr().out


def test_a_bad_wall_value_is_refused(tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.array([[1, 1, 1], [7, 7, 0]]))
    assert main([str(tmp_path / "a.npy"), str(tmp_path / "a.h5"), "--wall-value", "stent"]) == 2
    assert "--wall-value 'stent' is not NAME=VALUE" in capsys.readouterr().err


@pytest.mark.parametrize("side", [1, -1])
def test_labelled_walls_beside_an_opening_are_no_other_opening(side):
    flags = np.full((5, 5, 8), FLUID, FLAG_DTYPE)
    flags[[0, -1]], flags[:, [0, -1]] = SOLID, wall_flag(0)
    end = -0.5 if side > 0 else 7.5
    voxels = carve(Voxels(flags, walls=("w",)), [Opening("o", "inlet", (end, 2.0, 2.0), (float(side), 0.0, 0.0))])
    assert np.count_nonzero(voxels.flags == FIRST_OPENING) == 2 * 9 and np.any(voxels.flags == wall_flag(0))
