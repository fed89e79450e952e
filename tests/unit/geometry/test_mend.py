from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.openings.find import openings_of_surface
from muphy_lb.geometry.surfaces.mend import mend
from muphy_lb.geometry.surfaces.surface import Surface, diagnose, voxelise
from tests.unit.geometry.surfaces import FACES, box, rotated, sphere, tube


def with_triangles(surface, triangles):
    return replace(surface, triangles=np.asarray(triangles))


def without(surface, chosen):
    return with_triangles(surface, np.delete(surface.triangles, chosen, axis=0))


def shifted(surface, by):
    return replace(surface, points=surface.points + by)


def both(a, b):
    return Surface(np.vstack((a.points, b.points)), np.vstack((a.triangles, b.triangles + len(a.points))), 1.0)


def test_a_healthy_surface_is_left_as_it_is():
    surface = sphere(1.0, 2)
    mended = mend(surface)
    assert (mended.notes, mended.ends) == ((), ())
    np.testing.assert_array_equal(mended.surface.triangles, surface.triangles)


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_flipped_triangles_are_turned_outward_and_counted(share):
    surface = tube()
    flipped = np.random.default_rng(1).random(len(surface.triangles)) < share
    mended = mend(with_triangles(surface, np.where(flipped[:, None], surface.triangles[:, ::-1], surface.triangles)))
    report = diagnose(mended.surface)
    assert report.winding == "outward"
    assert report.volume_m3 == pytest.approx(diagnose(surface).volume_m3)
    assert mended.notes == (f"{flipped.sum()} of {len(flipped)} triangles reversed: all are oriented outward now",)


def test_each_part_is_wound_outward_by_itself():
    surface = both(sphere(1.0, 2), with_triangles(tube(), tube().triangles[:, ::-1]))
    mended = mend(shifted(surface, (5.0, 0.0, 0.0)))
    expected = diagnose(sphere(1.0, 2)).volume_m3 + diagnose(tube()).volume_m3
    assert diagnose(mended.surface).volume_m3 == pytest.approx(expected)


@pytest.mark.parametrize("turned", [False, True])
def test_copies_of_triangles_are_dropped(turned):
    surface = tube()
    copies = surface.triangles[10:14, :: -1 if turned else 1]
    mended = mend(with_triangles(surface, np.vstack((surface.triangles, copies))))
    np.testing.assert_array_equal(mended.surface.triangles, surface.triangles)
    assert mended.notes == ("4 copies of triangles dropped",)


def test_a_fold_of_two_triangles_is_dropped_whole():
    # A triangle and its reverse that stand on an edge of the sphere like a fin.
    surface = sphere(1.0, 2)
    points = np.vstack((surface.points, (3.0, 3.0, 3.0)))
    fin = [*surface.triangles[0, :2], len(surface.points)]
    mended = mend(Surface(points, np.vstack((surface.triangles, fin, fin[::-1])), 1.0))
    np.testing.assert_array_equal(mended.surface.triangles, surface.triangles)


def test_a_loose_triangle_without_area_is_dropped():
    surface = box()
    points = np.vstack((surface.points, surface.points[:2].mean(axis=0)))
    mended = mend(Surface(points, np.vstack((FACES, (0, 1, 8))), 1.0))
    np.testing.assert_array_equal(mended.surface.triangles, FACES)
    assert mended.notes == ("1 triangles without area dropped",)


def test_a_triangle_without_area_that_a_surface_needs_to_be_closed_is_kept():
    # Edge 0-1 of the box is split at its middle, vertex 8, on one side only: triangle (0, 8, 1) fills the slit.
    surface = box()
    points = np.vstack((surface.points, surface.points[:2].mean(axis=0)))
    faces = [f for f in FACES.tolist() if f != [0, 2, 1]] + [[0, 2, 8], [8, 2, 1], [0, 8, 1]]
    mended = mend(Surface(points, np.array(faces), 1.0))
    assert len(mended.surface.triangles) == 14
    assert mended.notes == ("1 triangles without area kept: the surface needs them to be closed",)


def test_a_small_hole_is_closed_and_reported_with_its_position():
    surface = sphere(1.0, 3)
    mended = mend(without(surface, [7]))
    found = diagnose(mended.surface)
    assert found.is_closed and found.volume_m3 == pytest.approx(diagnose(surface).volume_m3, rel=1e-3)
    assert mended.ends == ()
    centre = ", ".join(f"{c:.6g}" for c in surface.points[surface.triangles[7]].mean(axis=0))
    assert mended.notes == (f"1 small hole closed, at ({centre})",)


@pytest.mark.parametrize("ends", [("open", "flat"), ("open", "open")])
def test_open_ends_of_a_tube_are_capped_and_remembered(ends):
    mended = mend(tube(ends=ends))
    assert len(mended.ends) == ends.count("open")
    assert diagnose(mended.surface).volume_m3 == pytest.approx(diagnose(tube()).volume_m3)
    for end in mended.ends:
        assert np.ptp(mended.surface.points[mended.surface.triangles[end], 2]) == pytest.approx(0.0, abs=1e-12)


def test_an_open_tube_gives_the_voxels_of_a_closed_one():
    opened, closed = rotated(tube(ends=("open", "open")))[0], rotated(tube())[0]
    np.testing.assert_array_equal(voxelise(mend(opened).surface, 0.1).flags, voxelise(closed, 0.1).flags)


def test_a_slit_in_a_tube_is_a_hole_and_no_end():
    surface = tube(n_sides=48, n_rings=24)
    mended = mend(without(surface, [600, 648]))
    assert (len(mended.ends), diagnose(mended.surface).is_closed) == (0, True)


def test_a_large_hole_in_a_wall_is_refused_with_its_place():
    surface = sphere(1.0, 2)
    gone = np.flatnonzero(surface.points[surface.triangles][:, :, 2].mean(axis=1) > 0.6)
    with pytest.raises(GeometryError, match=r"hole at \(.*\) m is neither the end of a vessel nor small \(\d+"):
        mend(without(surface, gone))


def test_a_flat_hole_in_a_wall_may_be_an_opening():
    surface = sphere(1.0, 3)
    gone = np.flatnonzero(surface.points[surface.triangles][:, :, 2].mean(axis=1) > 0.86)
    mended = mend(without(surface, gone))
    (opening,) = openings_of_surface(mended)
    assert opening.opening.normal == pytest.approx((0.0, 0.0, -1.0), abs=0.02)
    assert [note.startswith("doubtful: 1 large hole, up to 6.8%") for note in mended.notes] == [True]


def test_a_hole_in_a_wall_whose_rim_is_not_flat_is_refused():
    surface = tube(n_sides=48)
    middle = surface.points[surface.triangles].mean(axis=1)
    gone = np.flatnonzero((middle[:, 0] > -0.2) & (np.abs(middle[:, 2] - 3.0) < 0.8))
    with pytest.raises(GeometryError, match=r"nor small \([3-9].*, or 10% if its rim is flat\); close it .* flat cap"):
        mend(without(surface, gone))


def test_an_edge_of_three_triangles_is_refused_with_its_place():
    surface = Surface(box().points, np.vstack((FACES, [0, 1, 7])), 1.0)
    with pytest.raises(GeometryError, match=r"1 edges of more than two.* at \(0.5, 0, 0\)"):
        mend(surface)


def test_a_surface_with_one_side_is_refused_with_its_place():
    n = 12
    turn = np.pi * np.arange(n) / n
    angle = 2.0 * turn
    across = 0.3 * np.stack([np.cos(turn) * np.cos(angle), np.cos(turn) * np.sin(angle), np.sin(turn)], axis=1)
    middle = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    points = np.concatenate([middle - across, middle + across])
    k, onward = np.arange(n), np.roll(np.arange(n), -1)
    low, high = onward.copy(), onward + n
    low[-1], high[-1] = n, 0
    strip = np.vstack((np.stack([k, low, k + n], axis=1), np.stack([low, high, k + n], axis=1)))
    with pytest.raises(GeometryError, match=r"only one side.* at \("):
        mend(Surface(points, strip, 1.0))


def test_a_sheet_that_encloses_nothing_is_refused():
    square = Surface(
        np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], float), np.array([[0, 1, 2], [0, 2, 3]]), 1.0
    )
    with pytest.raises(GeometryError, match="1 of 2 parts of the surface enclose nothing"):
        mend(both(sphere(1.0, 2), square))


def test_triangles_that_share_no_vertices_are_refused():
    surface = sphere(1.0, 3)
    loose = Surface(surface.points[surface.triangles].reshape(-1, 3), np.arange(3 * 512).reshape(-1, 3), 1.0)
    with pytest.raises(GeometryError, match="enclose nothing.*weld"):
        mend(loose)


@pytest.mark.parametrize("shift", [(0.5, 0.3, 0.2), (0.5, 0.0, 0.0), (0.5, 0.3, 0.0)])
def test_boxes_that_overlap_are_one_and_it_is_told(shift):
    crossed = mend(both(box((1.0, 1.0, 1.0)), shifted(box((1.0, 1.0, 1.0)), shift)))
    assert [note.startswith("doubtful") and "parts that overlap are one" in note for note in crossed.notes] == [True]
    overlap = np.prod(1.0 - np.array(shift))
    assert voxelise(crossed.surface, 0.1).n_fluid == round((2.0 - overlap) * 1000)


def test_a_cavity_of_parts_that_overlap_stays_one():
    outer, inner = (box((edge, edge, edge)) for edge in (1.0, 0.2))
    vessel = both(outer, shifted(outer, (0.5, 0.3, 0.2)))
    stent = shifted(both(inner, shifted(inner, (0.1, 0.05, 0.05))), (0.55, 0.35, 0.25))
    n_stent = 2 * 64 - 2 * 3 * 3
    assert voxelise(mend(both(vessel, stent)).surface, 0.05).n_fluid == 8 * (2000 - 280) - n_stent


def test_surfaces_that_lie_apart_do_not_cross():
    assert mend(both(sphere(1.0, 2), shifted(sphere(0.3, 2), (0.1, 0.1, 0.2)))).notes == ()


def test_the_diagnosis_counts_parts_copies_and_flat_triangles():
    surface = both(box(), shifted(box(), (5.0, 0.0, 0.0)))
    points = np.vstack((surface.points, surface.points[:2].mean(axis=0)))
    report = diagnose(Surface(points, np.vstack((surface.triangles, FACES[:3], (0, 1, 16))), 1.0))
    assert (report.n_parts, report.n_copies, report.n_without_area) == (2, 3, 1)
    assert "2 parts, 3 copies, 1 without area" in str(report)


def broken(surface, seed=1):
    """A surface with single triangles missing, others doubled with one corner moved (edges of three triangles), and
    others doubled beside the surface (loose)."""
    random = np.random.default_rng(seed)
    missing, doubled, loose = random.choice(len(surface.triangles), (3, 8), replace=False)
    moved = surface.points[surface.triangles[doubled, 2]] * (1.0 + 0.02 * random.random((8, 1)))
    beside = surface.points[surface.triangles[loose]].reshape(-1, 3) * 1.01
    first = len(surface.points)
    flaps = np.column_stack((surface.triangles[doubled, :2], first + np.arange(8)))
    scraps = first + 8 + np.arange(24).reshape(8, 3)
    kept = np.delete(surface.triangles, missing, axis=0)
    return Surface(np.vstack((surface.points, moved, beside)), np.vstack((kept, flaps, scraps)), 1.0)


@pytest.mark.parametrize("surface", [sphere(1.0, 4), tube(n_sides=48, n_rings=40)], ids=["sphere", "tube"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_broken_mesh_has_the_voxels_of_the_clean_one(surface, seed):
    mended = mend(broken(surface, seed))
    clean, found = (voxelise(s, 0.05) for s in (surface, mended.surface))
    assert found.origin_m == pytest.approx(clean.origin_m)
    assert np.count_nonzero(found.flags != clean.flags) < 1e-3 * clean.n_fluid
    assert any("edges of more than two triangles cut out" in note for note in mended.notes)
    assert any("loose scraps" in note for note in mended.notes)
    assert any("small holes closed" in note for note in mended.notes)


def test_a_mesh_of_which_too_much_is_doubtful_is_refused():
    surface = sphere(1.0, 2)
    with pytest.raises(GeometryError, match=r"the triangles there are \d+.\d% of its area, and at most 2% are cut out"):
        mend(broken(surface))
