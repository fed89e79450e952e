"""Openings that are found by themselves, against those that the data folder gives."""

import json

import numpy as np
import pytest

from muphy_lb.geometry.gmy import read_gmy
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.openings.find import openings_of_surface, openings_of_voxels
from muphy_lb.geometry.surfaces.mend import mend
from muphy_lb.geometry.surfaces.surface import read_surface, voxelise

AREA = 0.03
BOUND = 0.05  # published radii of these surfaces hold the opening; they are not those of a circle of its area
VOXELS_ACROSS = 20  # a voxel, where a surface has none, is this part of its smallest opening's diameter


def reference(folder, lengths="centre radius"):
    """(centre, radius) of each opening of an openings.json, in units of that file."""
    content = json.loads((folder / "openings.json").read_text())
    records = content.get("openings") or [*content["inlet"], *content["outlets"]]
    centre, radius = lengths.split()
    return [(np.array(r[centre]), r[radius]) for r in records]


def pipe_reference(folder):
    content = json.loads((folder / "openings.json").read_text())
    return [(np.array(content[kind]["centre_m"]), content["radius_m"]) for kind in ("inlet", "outlet")]


def y_reference(folder):
    """In metres from the first site; the radius is 15 voxels."""
    gmy = json.loads((folder / "openings.json").read_text())["gmy"]
    centres = [gmy["inlet_centre_lattice"], *gmy["outlet_centres_lattice"]]
    return [(np.array(c) * gmy["voxel_size_m"], 15 * gmy["voxel_size_m"]) for c in centres]


def matched(found, expected):
    """Pairs of a found and an expected opening, nearest centres, each once."""
    assert len(found) == len(expected)
    pairs = [
        (min(found, key=lambda item: np.linalg.norm(item.opening.centre_m - centre)), centre, radius)
        for centre, radius in expected
    ]
    assert len({id(item) for item, _, _ in pairs}) == len(found)
    return pairs


def largest_distance(pairs):
    return max(np.linalg.norm(item.opening.centre_m - centre) for item, centre, _ in pairs)


def area_errors(pairs):
    return [item.area_m2 / (np.pi * radius**2) - 1.0 for item, _, radius in pairs]


def found_in(path, unit):
    return openings_of_surface(mend(read_surface(path, unit)))


@pytest.mark.parametrize(
    ("name", "unit"), [("aorta_openlb/aorta3d.stl", "mm"), ("bifurcation_openlb/bifurcation3d.stl", "m")]
)
def test_flat_caps_of_closed_surfaces_are_the_published_openings(data_dir, name, unit):
    pairs = matched(found_in(data_dir / name, unit), reference((data_dir / name).parent))
    smallest = min(item.equivalent_radius_m for item, _, _ in pairs)
    assert largest_distance(pairs) < 2 * smallest / VOXELS_ACROSS
    for item, _, radius in pairs:
        assert item.source == "flat cap"
        assert item.opening.radius_m == pytest.approx(radius, rel=BOUND)


@pytest.mark.parametrize(
    ("name", "unit"), [("aorta_openlb/aorta3d.stl", "mm"), ("bifurcation_openlb/bifurcation3d.stl", "m")]
)
def test_areas_of_flat_caps_are_those_of_the_triangles_in_their_planes(data_dir, name, unit):
    surface = read_surface(data_dir / name, unit)
    corners = surface.points_m[surface.triangles]
    areas = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    for item in openings_of_surface(mend(surface)):
        away = (corners - item.opening.centre_m) @ item.opening.normal
        near = np.linalg.norm(corners - item.opening.centre_m, axis=2).max(axis=1) < 1.01 * item.opening.radius_m
        inside = near & (np.abs(away).max(axis=1) < 1e-3 * item.opening.radius_m)
        assert item.area_m2 == pytest.approx(areas[inside].sum(), rel=1e-3)


def test_the_open_ends_of_the_aorta_are_its_openings(data_dir):
    folder = data_dir / "aorta_vmtk"
    expected = [(1e-3 * centre, 1e-3 * radius) for centre, radius in reference(folder, "centre mean_radius")]
    pairs = matched(found_in(folder / "aorta-surface-open-ends.stl", "mm"), expected)
    assert largest_distance(pairs) < 0.878906e-3  # the voxel of the image that the surface was made from
    np.testing.assert_allclose(area_errors(pairs), 0.0, atol=AREA)


def test_the_open_ends_of_the_y_are_its_openings(data_dir):
    folder = data_dir / "bifurcation_hemepure"
    side = 6 / np.sqrt(2)
    expected = [(np.array(c), 1.0) for c in ((0, 0, -7), (side, 0, side), (-side, 0, side))]
    pairs = matched(found_in(folder / "bifurcation.stl", "m"), expected)
    assert largest_distance(pairs) < 1 / 15
    np.testing.assert_allclose(area_errors(pairs), 0.0, atol=AREA)


@pytest.mark.parametrize(
    ("name", "places"),
    [("pipe_hemelb/cyl_l100_r5.gmy", pipe_reference), ("bifurcation_hemepure/bifurcation.gmy", y_reference)],
)
def test_openings_of_voxels_with_known_wall_distances(data_dir, name, places):
    content = json.loads((data_dir / name).parent.joinpath("openings.json").read_text())
    spacing_m = content.get("voxel_size_m") or content["gmy"]["voxel_size_m"]
    voxels = read_gmy(data_dir / name, spacing_m, content.get("origin_m", (0.0, 0.0, 0.0)))
    pairs = matched(openings_of_voxels(voxels), places((data_dir / name).parent))
    assert largest_distance(pairs) < spacing_m
    np.testing.assert_allclose(area_errors(pairs), 0.0, atol=AREA)


@pytest.mark.parametrize(
    ("name", "unit", "spacing_m"),
    [
        ("aorta_openlb/aorta3d.stl", "mm", 5e-4),
        ("bifurcation_openlb/bifurcation3d.stl", "m", 5e-4),
        ("aorta_vmtk/aorta-surface-open-ends.stl", "mm", 4e-4),
        ("bifurcation_hemepure/bifurcation.stl", "mm", 8e-5),
    ],
)
def test_found_openings_cut_the_voxels_with_their_areas(data_dir, name, unit, spacing_m):
    mended = mend(read_surface(data_dir / name, unit))
    found = openings_of_surface(mended)
    carved = carve(voxelise(mended.surface, spacing_m), [item.opening for item in found])
    areas = [item.area_m2 for item in openings_of_voxels(carved)]
    assert areas == pytest.approx([item.area_m2 for item in found], rel=AREA)
