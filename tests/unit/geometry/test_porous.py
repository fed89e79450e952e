from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.load import load_voxels, load_with_notes
from muphy_lb.geometry.options import split_options
from muphy_lb.geometry.porous.pores import find_pores
from muphy_lb.geometry.porous.preparation import (
    Preparation,
    add_reservoirs,
    crop,
    divide,
    divide_closed_layers,
    drop_unconnected,
    invert,
    median_filter,
    mirror,
    porosity,
    prepare_image,
)
from muphy_lb.geometry.shapes.catalogue import channel, pipe
from muphy_lb.geometry.source import voxelise
from muphy_lb.geometry.voxels import FLUID, SOLID, Voxels, wall_flag

RANDOM = np.random.default_rng(7)
NEIGHBOURS = {n: [c for c in np.ndindex(3, 3, 3) if 0 < sum(abs(np.array(c) - 1)) <= n] for n in (1, 2)}


def image(fluid, **attributes):
    return Voxels(np.where(fluid, FLUID, SOLID).astype(np.uint8), **attributes)


def random_image(shape=(9, 8, 7), share=0.3, **attributes):
    return image(RANDOM.random(shape) < share, **attributes)


def diagonal(n=5, step=(1, 1, 0)):
    """A line of voxels along ``step`` (z, y, x)."""
    fluid = np.zeros((n,) * 3, dtype=bool)
    for k in range(n):
        fluid[tuple(k * np.array(step))] = True
    return fluid


def flooded(fluid, periodic=(False,) * 3, n_steps=2):
    """Pores by flooding voxel after voxel: the number of pores, and the sizes."""
    label, n_pores = np.zeros(fluid.shape, dtype=int), 0
    for seed in zip(*np.nonzero(fluid), strict=True):
        if label[seed]:
            continue
        n_pores += 1
        label[seed], front = n_pores, [seed]
        while front:
            place = np.array(front.pop())
            for c in NEIGHBOURS[n_steps]:
                near = place + np.array(c) - 1
                wrapped = np.where(periodic[::-1], near % fluid.shape, near)
                inside = np.all((wrapped >= 0) & (wrapped < fluid.shape))
                if inside and fluid[tuple(wrapped)] and not label[tuple(wrapped)]:
                    label[tuple(wrapped)] = n_pores
                    front.append(tuple(wrapped))
    return label


@pytest.mark.parametrize("periodic", [(False,) * 3, (True, False, True), (True,) * 3], ids=str)
@pytest.mark.parametrize("share", [0.1, 0.2, 0.6])
@pytest.mark.parametrize("shape", [(9, 8, 7), (40, 4, 3)], ids=["one slab", "three slabs"])
@pytest.mark.parametrize(("connected_by", "n_steps"), [("edges", 2), ("faces", 1)])
def test_pores_are_those_that_flooding_finds(connected_by, n_steps, shape, share, periodic):
    voxels = random_image(shape, share, periodic=periodic)
    label = flooded(voxels.flags == FLUID, periodic, n_steps)
    found = find_pores(voxels, connected_by).n_voxels
    np.testing.assert_array_equal(np.sort(found), np.sort(np.bincount(label.ravel())[1:]))


def test_pores_touch_through_edges_but_not_through_corners():
    assert find_pores(image(diagonal(step=(1, 1, 0)))).n_voxels.tolist() == [5]
    assert find_pores(image(diagonal(step=(0, 1, 1)))).n_voxels.tolist() == [5]
    assert find_pores(image(diagonal(step=(1, 1, 1)))).n_voxels.tolist() == 5 * [1]


@pytest.mark.parametrize("axis", "xyz")
def test_a_pipe_leads_from_end_to_end_along_its_axis_only(axis):
    for ends in (
        pipe(length=6, radius=3.0, axis=axis),
        crop(pipe(length=6, radius=3.0, axis=axis), (0,) * 3, (5,) * 3),
    ):
        np.testing.assert_array_equal(find_pores(ends).percolates, [[a == axis for a in "xyz"]])


def test_a_periodic_pore_leads_through_only_if_it_meets_itself():
    fluid = np.zeros((1, 6, 6), dtype=bool)
    fluid[0, 1, :4] = fluid[0, 1:5, 3] = fluid[0, 4, 3:] = True
    joined = find_pores(image(fluid, periodic=(True, False, False)))
    assert not joined.percolates[:, 0].any()
    fluid[0, 1:5, 0] = True
    assert find_pores(image(fluid, periodic=(True, False, False))).percolates[:, 0].all()


def test_a_helix_leads_through_along_the_axis_that_it_climbs():
    fluid = np.zeros((6, 4, 4), dtype=bool)
    turns = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]
    for k in range(24):
        fluid[k // 4 % 6, turns[k % 8][0], turns[k % 8][1]] = True
    found = find_pores(image(fluid, periodic=(False, False, True)))
    assert found.percolates[:, 2].any() and not found.percolates[:, :2].any()


def test_dropping_unconnected_pores_keeps_what_leads_through_and_counts_the_rest():
    fluid = np.zeros((5, 5, 5), dtype=bool)
    fluid[2, 2, :] = True
    fluid[0, 0, :2] = fluid[4, 4, 4] = True
    kept, n_voxels, n_pores = drop_unconnected(image(fluid), "x")
    assert (n_voxels, n_pores) == (3, 2)
    np.testing.assert_array_equal(np.argwhere(kept.flags == FLUID), [(2, 2, x) for x in range(5)])


def test_dropping_refuses_an_image_without_a_way_through():
    with pytest.raises(
        GeometryError, match="none of the 1 pores leads from end to end along y; the largest has 5 of 5"
    ):
        drop_unconnected(image(diagonal(step=(0, 0, 1))), "y")


@pytest.mark.parametrize("periodic", [(False,) * 3, (True, False, True)], ids=str)
def test_the_median_filter_is_the_median_of_27(periodic):
    voxels = random_image(share=0.5, periodic=periodic)
    fluid = (voxels.flags == FLUID).astype(int)
    for axis, wraps in enumerate(periodic[::-1]):
        fluid = np.pad(fluid, [(int(axis == a),) * 2 for a in range(3)], mode="wrap" if wraps else "edge")
    around = np.lib.stride_tricks.sliding_window_view(fluid, (3, 3, 3)).reshape(*voxels.shape, 27)
    np.testing.assert_array_equal(median_filter(voxels).flags == FLUID, np.median(around, axis=-1) == 1)


def test_the_median_filter_keeps_labels_of_solid_that_stays():
    flags = np.full((3, 6, 6), FLUID, dtype=np.uint8)
    flags[:, :3] = wall_flag(0)
    np.testing.assert_array_equal(median_filter(Voxels(flags, walls=("floor",))).flags, flags)


def test_a_cropped_image_keeps_the_places_of_its_voxels():
    voxels = random_image(spacing_m=0.5, origin_m=(1.0, 2.0, 3.0), periodic=(True, True, True))
    part = crop(voxels, (1, 0, 2), (4, 8, 9))
    np.testing.assert_array_equal(part.flags, voxels.flags[2:9, 0:8, 1:4])
    assert part.origin_m == (1.5, 2.0, 4.0)
    assert part.periodic == (False, True, False)


def test_a_crop_moves_the_true_wall_along():
    part = crop(channel(length=8, height=6), (0, 1, 0), (8, 8, 1))
    start, down = np.zeros((1, 3)), np.array([0, -1, 0])
    assert part.wall_shape.distances(start, down) == pytest.approx([0.5])


@pytest.mark.parametrize(
    "corners", [((0, 0, 0), (8, 8, 9)), ((-1, 0, 0), (7, 8, 9)), ((3, 0, 0), (3, 8, 9)), ((0, 0), (7, 8))], ids=str
)
def test_a_crop_outside_the_image_is_refused(corners):
    with pytest.raises(GeometryError, match="crop is"):
        crop(random_image(), *corners)


def test_inverting_twice_gives_the_image_back():
    voxels = random_image()
    assert porosity(invert(voxels)) == pytest.approx(1.0 - porosity(voxels))
    np.testing.assert_array_equal(invert(invert(voxels)).flags, voxels.flags)


def test_an_inverted_surface_is_the_same_wall_from_its_other_side():
    corners = np.array([(x, y, z) for z in (0.2, 3.7) for y in (0.2, 3.7) for x in (0.2, 3.7)])
    quads = np.array([(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)])
    box = voxelise((corners, np.concatenate((quads[:, :3], quads[:, [0, 2, 3]]))), 1.0, margin=3).voxels
    z, y, x = np.argwhere(box.flags == FLUID)[0]  # of this corner voxel, the wall lies behind -x
    inside, outside = np.array([(x, y, z)], float), np.array([(x - 1, y, z)], float)
    (from_inside,) = box.wall_shape.distances(inside, np.array((-1, 0, 0)))
    (from_outside,) = invert(box).wall_shape.distances(outside, np.array((1, 0, 0)))
    assert 0.0 < from_inside < 1.0 and from_inside + from_outside == pytest.approx(1.0)


def test_a_mirrored_image_is_symmetric_and_periodic_with_the_same_porosity():
    voxels = random_image()
    doubled = mirror(voxels, "xz")
    assert doubled.shape == (18, 8, 14) and doubled.periodic == (True, False, True)
    np.testing.assert_array_equal(doubled.flags, doubled.flags[::-1, :, ::-1])
    assert porosity(doubled) == porosity(voxels)


@pytest.mark.parametrize("axis", "xyz")
def test_reservoirs_add_layers_of_fluid_and_openings_over_the_whole_section(axis):
    voxels = random_image(shape=(6, 6, 6))
    padded = add_reservoirs(voxels, 2, axis)
    assert [o.name for o in padded.openings] == ["inlet", "outlet"]
    assert padded.n_fluid == voxels.n_fluid + 4 * 36
    distance = padded.openings[1].centre_m["xyz".index(axis)] - padded.openings[0].centre_m["xyz".index(axis)]
    assert distance == pytest.approx(10.0)


def test_joined_reservoirs_make_the_image_periodic():
    padded = add_reservoirs(random_image(periodic=(False, True, False)), 3, "x", "periodic")
    assert padded.periodic == (True, True, False) and padded.shape == (9, 8, 13)
    assert np.all(padded.flags[:, :, [0, 1, 2, -3, -2, -1]] == FLUID)


def test_a_preparation_takes_its_steps_in_order_and_tells_the_porosity_of_each():
    voxels = random_image(shape=(12, 12, 12), share=0.7)
    options = {"crop": [[0, 0, 0], [8, 9, 10]], "median": 1, "drop_unconnected": "x", "reservoir_layers": 2}
    preparation, rest = split_options(Preparation, options | {"fluid_value": 1})
    assert rest == {"fluid_value": 1}
    prepared, lines = prepare_image(voxels, preparation)
    by_hand = drop_unconnected(median_filter(crop(voxels, (0, 0, 0), (8, 9, 10))), "x")[0]
    np.testing.assert_array_equal(prepared.flags, add_reservoirs(by_hand, 2, "x").flags)
    assert [line.split()[0] for line in lines[:2]] == ["cropped", "median"] and len(lines) == 4
    assert f"{porosity(by_hand):.6f} after" in lines[2]


def test_no_preparation_leaves_the_image_as_it_is():
    voxels = random_image()
    assert prepare_image(voxels, Preparation()) == (voxels, ())


def test_an_image_with_openings_is_not_prepared():
    with pytest.raises(GeometryError, match="openings already .inlet, outlet."):
        prepare_image(channel(ends="open"), Preparation(median=1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"median": -1}, "median is -1"),
        ({"mirror": "w"}, "mirror is 'w'"),
        ({"drop_unconnected": True}, "drop_unconnected is True"),
        ({"connected_by": "corners"}, "connected_by is 'corners'"),
        ({"reservoir_axis": "xy"}, "reservoir_axis is 'xy'"),
        ({"crop": 3}, "crop is 3"),
        ({"invert": 1}, "invert is 1"),
    ],
    ids=str,
)
def test_a_wrong_preparation_is_refused(options, words):
    with pytest.raises(GeometryError, match=words):
        Preparation(**options)


def test_an_image_file_is_prepared_as_its_options_say(tmp_path):
    voxels = random_image(share=0.7)
    np.save(tmp_path / "rock.npy", voxels.flags)
    loaded = load_with_notes(tmp_path / "rock.npy", median=1, mirror="y", spacing_m=1.0)
    np.testing.assert_array_equal(loaded.voxels.flags, mirror(median_filter(voxels), "y").flags)
    assert [note.split()[0] for note in loaded.notes[-2:]] == ["median", "mirrored"]


def test_a_shape_is_prepared_as_its_options_say():
    assert load_voxels("shape:random_solid", invert=True, porosity=1.0, spacing_m=1.0).n_fluid == 0


def test_an_unknown_option_names_the_preparation_that_is_near(tmp_path):
    np.save(tmp_path / "rock.npy", random_image().flags)
    with pytest.raises(GeometryError, match="did you mean 'median'"):
        load_voxels(tmp_path / "rock.npy", medain=1)


def test_a_single_layer_stays_one_unless_it_lies_between_walls():
    flat = replace(random_image(), flags=random_image().flags[:1], periodic=(False, False, True))
    fine = divide(flat, 3)
    assert fine.shape == (1, *(3 * n for n in flat.shape[1:]))
    assert divide_closed_layers(fine, 3).shape == fine.shape
    closed = divide_closed_layers(replace(fine, periodic=(False, False, False)), 3)
    assert closed.shape == (3, *fine.shape[1:]) and np.array_equal(
        closed.flags[2], flat.flags[0].repeat(3, 0).repeat(3, 1)
    )


def test_dividing_voxels_keeps_the_image_where_it_is():
    rock = random_image(spacing_m=2e-6, origin_m=(1e-5, 0.0, 3e-5))
    fine = divide(rock, 3)
    assert porosity(fine) == porosity(rock) and fine.spacing_m == pytest.approx(rock.spacing_m / 3)
    assert np.array_equal(fine.flags[1::3, 1::3, 1::3], rock.flags)
    centre = np.array(fine.origin_m) + fine.spacing_m  # of the middle part of the first voxel
    assert np.allclose(centre, rock.origin_m)


def test_reservoirs_before_the_inlet_alone_leave_the_outlet_at_the_rock():
    flags = np.full((3, 4, 5), SOLID, dtype=np.uint8)
    flags[1, 1:3] = FLUID
    voxels = add_reservoirs(Voxels(flags), 2, "x", "inlet")
    assert voxels.origin_m[0] == -2.0 * voxels.spacing_m - 4.0 * voxels.spacing_m  # and what lies beyond the openings
    x = {each.name: each.centre_m[0] / voxels.spacing_m for each in voxels.openings}
    assert x == {"inlet": -2.5, "outlet": 4.5}
    with pytest.raises(GeometryError, match="reservoir_ends is 'outlet'; allowed: periodic, open, inlet"):
        Preparation(reservoir_ends="outlet")
