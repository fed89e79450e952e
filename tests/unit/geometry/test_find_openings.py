import tomllib
from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.case.boundaries import OpeningSection
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.inspection import inspect_input
from muphy_lb.geometry.openings.carve import carve, read_openings
from muphy_lb.geometry.openings.find import (
    openings_of_surface,
    openings_of_voxels,
    openings_table,
    openings_toml,
    spurious_contacts,
)
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.geometry.surfaces.mend import Mended, mend
from muphy_lb.geometry.surfaces.surface import Surface, voxelise
from muphy_lb.geometry.voxels import FLUID, Voxels
from tests.unit.geometry.surfaces import box, octahedron, rotated, sphere, tube

N_SIDES = 24
POLYGON = 0.5 * N_SIDES * np.sin(2 * np.pi / N_SIDES)  # area of the ends of a tube of radius 1
EITHER = [("open", "open"), ("flat", "flat"), ("open", "flat")]


def found_in(surface):
    return openings_of_surface(mend(surface))


def image(*fluid):
    """Voxels of 10 x 12 x 14 with the given boxes (slices z, y, x) fluid; 0.5 m apart, origin (1, 2, 3)."""
    flags = np.zeros((10, 12, 14), np.uint8)
    for part in fluid:
        flags[part] = FLUID
    return Voxels(flags, 0.5, (1.0, 2.0, 3.0))


ROW = np.s_[4:6, 3:7, :]  # a duct along x, 2 x 4 voxels wide


@pytest.mark.parametrize("ends", EITHER)
def test_both_ends_of_a_tube_are_found_with_centre_normal_and_area(ends):
    turned, rotation = rotated(tube(ends=ends))
    found = found_in(turned)
    assert [item.area_m2 for item in found] == pytest.approx([POLYGON, POLYGON])
    expected = {(0.0, 0.0, 0.0): (0.0, 0.0, 1.0), (0.0, 0.0, 6.0): (0.0, 0.0, -1.0)}
    for centre, normal in expected.items():
        item = min(found, key=lambda one: np.linalg.norm(one.opening.centre_m - rotation @ centre))
        np.testing.assert_allclose(item.opening.centre_m, rotation @ centre, atol=1e-12)
        np.testing.assert_allclose(item.opening.normal, rotation @ normal, atol=1e-12)


def test_the_unit_scales_what_is_found():
    found = found_in(replace(tube(), metres_per_unit=1e-3))[0]
    assert found.area_m2 == pytest.approx(POLYGON * 1e-6)
    assert found.equivalent_radius_m == pytest.approx(np.sqrt(POLYGON / np.pi) * 1e-3)
    assert found.opening.radius_m == pytest.approx(1e-3)


@pytest.mark.parametrize("size", [(1.0, 1.0, 10.0), (0.2, 2.0, 9.0), (3.0, 1.0, 10.0)])
def test_of_a_long_box_only_the_ends_are_openings(size):
    found = found_in(box(size))
    assert sorted(item.opening.centre_m[2] for item in found) == pytest.approx([0.0, 10.0] if size[2] == 10 else [0, 9])


@pytest.mark.parametrize("surface", [sphere(1.0, 3), octahedron(1.0), sphere(1.0, 1)], ids=["fine", "8", "32"])
def test_a_body_without_ends_has_no_opening(surface):
    assert found_in(surface) == ()


@pytest.mark.parametrize("slope", [0.2, 0.5])
def test_an_oblique_end_is_found(slope):
    surface = tube()
    points = surface.points.copy()
    points[:, 2] += slope * points[:, 0] * (points[:, 2] > 5.9)
    found = found_in(replace(surface, points=points))
    assert max(item.area_m2 for item in found) == pytest.approx(POLYGON * np.hypot(1.0, slope))


def test_the_largest_is_the_first_and_the_inlet():
    surface = tube()
    wide = surface.points * np.where(surface.points[:, 2:] > 5.9, (1.1, 1.1, 1.0), 1.0)
    found = found_in(replace(surface, points=wide))
    names = [(item.opening.name, item.opening.kind) for item in found]
    assert names == [("inlet", "inlet"), ("outlet_1", "outlet")]
    assert found[0].opening.centre_m[2] == pytest.approx(6.0)


@pytest.mark.parametrize("ends", EITHER)
def test_found_openings_cut_all_links_through_the_ends(ends):
    mended = mend(rotated(tube(ends=ends))[0])
    found = openings_of_surface(mended)
    carved = carve(voxelise(mended.surface, 0.08), [item.opening for item in found])
    areas = [item.area_m2 for item in openings_of_voxels(carved)]
    assert areas == pytest.approx([POLYGON, POLYGON], rel=0.03)


def test_fluid_at_faces_of_an_image_is_found_and_can_be_carved():
    found = openings_of_voxels(image(ROW))
    assert [item.opening.centre_m for item in found] == [(0.75, 4.25, 5.25), (7.75, 4.25, 5.25)]
    assert [item.opening.normal for item in found] == [(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)]
    assert [item.area_m2 for item in found] == [2.0, 2.0]
    carved = carve(image(ROW), [item.opening for item in found])
    assert [item.area_m2 for item in openings_of_voxels(carved)] == pytest.approx([2.0, 2.0])


def test_two_vessels_at_one_face_are_two_openings():
    found = openings_of_voxels(image(np.s_[1:3, 1:3, :5], np.s_[6:9, 6:9, :5], np.s_[2:7, 2:7, 4:6]))
    assert [item.area_m2 for item in found] == [9 * 0.25, 4 * 0.25]


def test_pixels_that_touch_by_a_corner_are_one_opening():
    assert len(openings_of_voxels(image(np.s_[2:4, 2:4, :3], np.s_[4:6, 4:6, :3]))) == 1


def test_a_face_with_many_pores_is_one_opening_without_radius():
    found = openings_of_voxels(image(np.s_[1::2, 1::2, :]))
    whole = [item for item in found if abs(item.opening.normal[0]) == 1.0]
    assert [item.opening.radius_m for item in whole] == [np.inf, np.inf]
    assert whole[0].area_m2 == 5 * 6 * 0.25
    assert "radius_m" not in openings_toml(whole)


def bulge(n_layers):
    """A wall that reaches the box at high y, twice as wide in each layer behind, beside a duct through the box."""
    widths = [np.s_[0:1, 11 - k, 1 : 1 + 2**k] for k in range(n_layers)]
    return image(ROW, np.s_[:, :8, :], *widths)


def test_a_wall_that_touches_a_face_is_no_opening():
    voxels = bulge(4)
    assert {abs(item.opening.normal[1]) for item in openings_of_voxels(voxels) if item.area_m2 < 1.0} == set()
    assert [(item.area_m2, item.opening.normal) for item in spurious_contacts(voxels)] == [(0.25, (0.0, -1.0, 0.0))]


def test_the_inspection_reports_walls_that_touch_the_box(tmp_path):
    np.save(tmp_path / "bulge.npy", bulge(4).flags)
    np.save(tmp_path / "duct.npy", image(ROW).flags)
    health = {
        name: " ".join(inspect_input(tmp_path / f"{name}.npy", spacing_m=0.5).health) for name in ("bulge", "duct")
    }
    assert "touches the box at high y (0.25 m2)" in health["bulge"]
    assert "touches" not in health["duct"]


def test_a_small_vessel_that_goes_on_inwards_is_an_opening():
    voxels = image(ROW, np.s_[:, :8, :], np.s_[0:1, 8:, 1:2])
    assert spurious_contacts(voxels) == ()
    assert min(item.area_m2 for item in openings_of_voxels(voxels)) == 0.25


def test_places_whose_discs_would_overlap_are_one_opening_that_can_be_carved():
    bow = (np.s_[1:2, 1:9, :4], np.s_[2:6, 1:2, :4], np.s_[5:6, 5:6, :4], np.s_[1:7, 1:9, 4:7])
    found = openings_of_voxels(image(*bow))
    assert [item.area_m2 for item in found] == [0.25 * (8 + 4 + 1)]
    assert len(carve(image(*bow), [item.opening for item in found]).openings) == 1


def test_coordinates_are_told_as_they_are():
    voxels = replace(image(np.s_[4:5, 3:4, :]), spacing_m=5e-5, origin_m=(0.0, 0.0, 0.0))
    assert "0.00015, 0.0002" in openings_table(openings_of_voxels(voxels))
    assert "-2.5e-05, 0.00015, 0.0002" in openings_table(openings_of_voxels(voxels))


def test_faces_across_periodic_axes_are_no_openings():
    assert openings_of_voxels(replace(image(ROW), periodic=(True, False, False))) == ()


def test_a_layer_of_two_dimensions_opens_at_its_edges_only():
    flat = Voxels(np.pad(np.full((1, 6, 9), FLUID, np.uint8), ((0, 0), (1, 1), (0, 0))))
    assert [item.opening.normal for item in openings_of_voxels(flat)] == [(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)]


def test_openings_of_the_input_keep_their_names_and_places():
    voxels = build_shape("branching_vessel", spacing_m=3e-4, parent_radius_m=3e-3)
    found = openings_of_voxels(voxels)
    assert [item.opening for item in found] == list(voxels.openings)
    assert "centre_m" not in openings_toml(found)
    assert found[0].equivalent_radius_m == pytest.approx(3e-3, rel=0.02)


def test_the_toml_makes_openings_of_a_case_and_can_be_read_back(tmp_path):
    found = found_in(rotated(tube())[0])
    (tmp_path / "o.toml").write_text(openings_toml(found))
    sections = map(OpeningSection.model_validate, tomllib.loads(openings_toml(found))["openings"])
    assert [(s.name, s.kind) for s in sections] == [("inlet", "inlet"), ("outlet_1", "outlet")]
    for read, item in zip(read_openings(tmp_path / "o.toml"), found, strict=True):
        np.testing.assert_allclose(read.centre_m, item.opening.centre_m, atol=1e-8)
        np.testing.assert_allclose(read.normal, item.opening.normal, atol=1e-8)
        assert read.radius_m == pytest.approx(item.opening.radius_m)


def test_the_table_has_a_row_for_each():
    lines = openings_table(found_in(tube(ends=("open", "flat")))).split("\n")
    assert [line.split()[0] for line in lines] == ["name", "inlet", "outlet_1"]
    assert {line.rsplit("  ")[-1].strip() for line in lines[1:]} == {"open end", "flat cap"}
    assert openings_table(()) == "no opening found"


def test_more_openings_than_there_are_flags_for_are_refused():
    one = tube(ends=("flat", "flat"), n_sides=8, n_rings=3)
    n = len(one.points)
    points = np.concatenate([one.points + (3.0 * k, 0.0, 0.0) for k in range(60)])
    triangles = np.concatenate([one.triangles + k * n for k in range(60)])
    with pytest.raises(GeometryError, match="120 openings found; at most 112"):
        found_in(Surface(points, triangles, 1.0))


def test_the_slender_hole_of_a_missing_triangle_is_no_opening():
    """A cap on a long triangle of the wall that was taken for an open end."""
    closed = tube(length=40.0, n_sides=128, n_rings=16)
    found = openings_of_surface(Mended(closed, (np.array([5]),), ()))
    assert [item.source for item in found] == ["flat cap", "flat cap"]
