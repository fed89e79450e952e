import json

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.openings.carve import (
    NEIGHBOURS,
    carve,
    flags_at,
    fluid_neighbours,
    opening_from_mapping,
    read_openings,
)
from muphy_lb.geometry.voxels import FIRST_OPENING, FLAG_DTYPE, FLUID, MAX_OPENINGS, SOLID, Opening, Voxels

SPACING = 0.5
TILTS = [(0.0, 0.0, 1.0), (1.0, 0.0, 2.0), (1.0, 1.0, 1.0), (0.3, -0.7, 0.5), (-0.9, 0.2, 0.1)]


def unit(vector):
    return np.array(vector) / np.linalg.norm(vector)


def tilted_pipe(direction, radius=5.0, size=41, spacing=SPACING, clear=4):
    """A pipe through the middle of a cube that does not touch the faces of its box."""
    zyx = np.indices((size,) * 3).reshape(3, -1).T
    place = zyx[:, ::-1] - (size - 1) / 2
    along = place @ unit(direction)
    fluid = np.sum(place**2, axis=1) - along**2 < radius**2
    fluid &= np.all((zyx >= clear) & (zyx < size - clear), axis=1)
    flags = np.where(fluid, FLUID, SOLID).astype(FLAG_DTYPE).reshape((size,) * 3)
    return Voxels(flags, spacing, tuple([-spacing * (size - 1) / 2] * 3))


def tilted_openings(direction, distance=8.0, radius=5.0, lean=(0.15, -0.1, 0.05), spacing=SPACING):
    """Two discs across that pipe, leaning a little against its axis, wide enough for the ellipse they cut."""
    axis = unit(direction)
    ends = []
    for name, sign in (("inlet", -1.0), ("outlet", 1.0)):
        normal = -sign * unit(axis + np.array(lean))
        centre = sign * distance * spacing * axis
        ends.append(Opening(name, name, tuple(centre), tuple(normal), (radius + 0.5) * spacing))
    return ends


def flood(voxels, start):
    """Truth of the fluid voxels that 26-neighbour steps reach from one voxel (z, y, x)."""
    reached = np.zeros(voxels.shape, dtype=bool)
    reached[start] = True
    front = np.array([start])
    while len(front):
        step = (front[:, np.newaxis] + NEIGHBOURS).reshape(-1, 3)
        step = np.unique(step[(flags_at(voxels, step) == FLUID)], axis=0)
        front = step[~reached[tuple(step.T)]]
        reached[tuple(front.T)] = True
    return reached


def signed_distance(voxels, opening):
    zyx = np.indices(voxels.shape).reshape(3, -1).T
    place = np.array(voxels.origin_m) + voxels.spacing_m * zyx[:, ::-1]
    return ((place - opening.centre_m) @ np.array(opening.normal)).reshape(voxels.shape)


def duct(length=6, side=3, periodic=(False, False, False)):
    """A square duct along x whose ends lie on the faces of the box."""
    flags = np.full((side + 2, side + 2, length), SOLID, dtype=FLAG_DTYPE)
    flags[1:-1, 1:-1, :] = FLUID
    return Voxels(flags, periodic=periodic)


def face_opening(name="inlet", x=-0.5, normal=(1.0, 0.0, 0.0), radius=np.inf, centre=(2.0, 2.0)):
    return Opening(name, "inlet", (x, *centre), normal, radius)


@pytest.fixture(params=TILTS, ids=str)
def cut_pipe(request):
    return carve(tilted_pipe(request.param), tilted_openings(request.param))


def test_no_fluid_path_passes_an_oblique_opening(cut_pipe):
    middle = tuple(n // 2 for n in cut_pipe.shape)
    reached = flood(cut_pipe, middle)
    for opening in cut_pipe.openings:
        assert signed_distance(cut_pipe, opening)[reached].min() > 0.0


def test_the_flow_between_two_openings_is_kept_whole(cut_pipe):
    before = tilted_pipe(cut_pipe.openings[1].centre_m)
    between = before.flags == FLUID
    for opening in cut_pipe.openings:
        between &= signed_distance(before, opening) > 1e-6
    assert np.count_nonzero(between) > 0
    assert np.all(cut_pipe.flags[between] == FLUID)


def test_every_link_out_through_the_lumen_ends_in_the_opening(cut_pipe):
    before = tilted_pipe(cut_pipe.openings[1].centre_m)
    reached = flood(cut_pipe, tuple(n // 2 for n in cut_pipe.shape))
    zyx = np.argwhere(reached)
    links = (zyx[:, np.newaxis] + NEIGHBOURS).reshape(-1, 3)
    lumen = links[flags_at(before, links) == FLUID]
    assert set(np.unique(cut_pipe.flags[tuple(lumen.T)])) == {FLUID, FIRST_OPENING, FIRST_OPENING + 1}


def test_an_opening_on_a_face_grows_the_box_by_solid_and_is_as_wide_as_the_fluid():
    carved = carve(duct(), [face_opening()])
    assert carved.shape == (5, 5, 10)
    assert carved.origin_m == (-4.0, 0.0, 0.0)
    assert np.all(carved.flags[:, :, :2] == SOLID)
    for x in (2, 3):
        np.testing.assert_array_equal(carved.flags[:, :, x] == FIRST_OPENING, carved.flags[:, :, 4] == FLUID)


def test_growing_keeps_the_fluid_in_its_place():
    carved = carve(duct(), [face_opening(), face_opening("outlet", 5.5, (-1.0, 0.0, 0.0))])
    np.testing.assert_array_equal(carved.flags[:, :, 4:-4], duct().flags)


def test_a_box_with_room_does_not_grow():
    voxels = tilted_pipe((0.0, 0.0, 1.0))
    assert carve(voxels, tilted_openings((0.0, 0.0, 1.0))).shape == voxels.shape


def test_periodicity_along_the_opening_does_not_matter():
    flags = np.full((1, 5, 6), FLUID, dtype=FLAG_DTYPE)
    carved = carve(Voxels(flags, periodic=(False, True, True)), [face_opening(centre=(2.0, 0.0))])
    assert np.count_nonzero(carved.flags == FIRST_OPENING) == 2 * 5


def test_a_normal_out_of_the_fluid_is_reversed_unless_there_is_fluid_on_both_sides():
    carved = carve(duct(), [face_opening(normal=(-1.0, 0.0, 0.0))])
    assert carved.openings[0].normal == (1.0, 0.0, 0.0)
    np.testing.assert_array_equal(carved.flags, carve(duct(), [face_opening()]).flags)
    carved = carve(duct(12), [face_opening(x=6.0, normal=(-1.0, 0.0, 0.0))])
    assert carved.openings[0].normal == (-1.0, 0.0, 0.0)


def test_what_lies_behind_an_opening_is_cut_off_by_solid():
    flags = carve(duct(12), [face_opening(x=6.0)]).flags[2, 2]
    expected = [FLUID] * 3 + [SOLID] * 2 + [FIRST_OPENING] * 2 + [FLUID] * 5
    np.testing.assert_array_equal(flags, expected)


def test_a_plane_through_voxel_centres_takes_them_all():
    # 0.3 / 0.1 is just below 3: without rounding, voxel 3 would lie just in front of the plane.
    carved = carve(Voxels(duct(12).flags, 0.1), [Opening("inlet", "inlet", (0.3, 0.2, 0.2), (1.0, 0.0, 0.0))])
    np.testing.assert_array_equal(carved.flags[1:-1, 1:-1, 3], np.full((3, 3), FIRST_OPENING))


def test_openings_are_numbered_after_those_already_there():
    once = carve(duct(), [face_opening()])
    twice = carve(once, [face_opening("outlet", 5.5, (-1.0, 0.0, 0.0))])
    both = carve(duct(), [face_opening(), face_opening("outlet", 5.5, (-1.0, 0.0, 0.0))])
    np.testing.assert_array_equal(twice.flags, both.flags)
    assert twice.openings == both.openings


def test_a_disc_leaves_other_vessels_alone():
    flags = np.concatenate((duct(12).flags, duct(12).flags), axis=1)
    carved = carve(Voxels(flags), [face_opening(x=6.0, radius=2.2)])
    np.testing.assert_array_equal(carved.flags[:, 5:], flags[:, 5:])


@pytest.mark.parametrize(
    ("voxels", "openings", "told"),
    [
        (
            duct(periodic=(True, False, False)),
            [face_opening()],
            "'inlet' lies on a face .* across x, which is per",
        ),
        (
            duct(),
            [face_opening(x=-20.0, radius=2.0)],
            "'inlet' touches no fluid: .* nearest fluid voxel is 20 m .* enlarge radius_m",
        ),
        (
            duct(12, side=9),
            [face_opening(x=6.0, radius=1.0, centre=(5.0, 5.0))],
            "'inlet' does not close the vessel: .*enlarge radius_m",
        ),
        (duct(12), [face_opening("a", 6.0), face_opening("b", 7.0)], "openings 'a' and 'b' overlap"),
        (duct(), [face_opening("a"), face_opening("a", 5.5)], "'a' is used 2 times"),
        (duct(), [face_opening(str(k)) for k in range(MAX_OPENINGS + 1)], f"at most {MAX_OPENINGS}"),
    ],
    ids=["periodic face", "no fluid", "narrow", "overlap", "names", "number"],
)
def test_what_cannot_be_carved_is_refused(voxels, openings, told):
    with pytest.raises(GeometryError, match=told):
        carve(voxels, openings)


def test_the_input_is_not_changed():
    voxels = duct()
    before = voxels.flags.copy()
    carve(voxels, [face_opening(x=2.0)])
    np.testing.assert_array_equal(voxels.flags, before)


def test_flags_outside_the_box_are_solid_unless_the_axis_is_periodic():
    voxels = Voxels(np.full((1, 1, 2), FLUID, dtype=FLAG_DTYPE), periodic=(True, False, False))
    assert flags_at(voxels, np.array([[0, 0, -1], [0, 0, 2], [0, 1, 0], [-1, 0, 0]])).tolist() == [1, 1, 0, 0]


def test_fluid_neighbours_point_to_the_fluid():
    flags = np.full((3, 3, 3), SOLID, dtype=FLAG_DTYPE)
    flags[2, 0, 1] = FLUID
    found = NEIGHBOURS[fluid_neighbours(Voxels(flags), np.array([[1, 1, 1]]))[0]]
    assert found.tolist() == [[1, -1, 0]]


RECORD = {"name": "in", "kind": "inlet", "centre_m": [1, 2, 3], "normal": [0, 0, 2], "radius_m": 0.5}


def test_openings_are_read_from_json(tmp_path):
    (tmp_path / "o.json").write_text(json.dumps({"openings": [RECORD]}))
    assert read_openings(tmp_path / "o.json") == [Opening("in", "inlet", (1.0, 2.0, 3.0), (0.0, 0.0, 1.0), 0.5)]


def test_a_radius_left_out_is_unbounded_and_other_missing_attributes_are_named():
    record = {name: value for name, value in RECORD.items() if name != "radius_m"}
    assert opening_from_mapping(record, "here").radius_m == np.inf
    with pytest.raises(GeometryError, match="here: centre_m, normal missing"):
        opening_from_mapping({"name": "a", "kind": "inlet"}, "here")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"radius": 1.0}, "here: unknown name 'radius'; did you mean 'radius_m'"),
        ({"normal": [0, 1]}, "here: normal has 2 numbers"),
        ({"centre_m": 3}, "here: .*not iterable"),
        ({"kind": "hole"}, "allowed: inlet, outlet"),
        ({"radius_m": -1}, "must be positive"),
        ({"normal": [0, 0, 0]}, "non-zero vector"),
    ],
)
def test_bad_records_are_named(change, text):
    with pytest.raises(GeometryError, match=text):
        opening_from_mapping(RECORD | change, "here")


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("o.json", "[]", "list of tables named 'openings'"),
        ("o.json", "{", "cannot read"),
        ("o.toml", "a = ", "cannot read"),
        ("o.json", '{"openings": [1]}', "list of tables"),
        ("o.yaml", "", "allowed: .toml, .json"),
    ],
)
def test_bad_openings_files_are_one_clear_error(tmp_path, name, content, text):
    (tmp_path / name).write_text(content)
    with pytest.raises(GeometryError, match=text):
        read_openings(tmp_path / name)
