"""Cleaning: which components stay, what the report says, what is refused."""

import re

import numpy as np
import pytest

from muphy_lb.geometry.clean import MODES, clean, component_labels
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.implicit import RoundWall
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FIRST_OPENING, FLAG_DTYPE, FLUID, Opening, Voxels

INLET = Opening("inlet", "inlet", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
OUTLET = Opening("outlet", "outlet", (9.0, 0.0, 0.0), (-1.0, 0.0, 0.0))


def row_of(text: str, periodic=False, openings=()):
    """Nodes of a row along x: ``o`` fluid, ``0`` and ``1`` opening voxels, anything else solid."""
    value = {"o": FLUID, "0": FIRST_OPENING, "1": FIRST_OPENING + 1}
    flags = np.array([[[value.get(letter, 0) for letter in text]]], FLAG_DTYPE)
    return build_nodes(Voxels(flags, periodic=(periodic, False, False), openings=openings))


def kept(nodes, mode):
    """Voxel ids that stay, in ascending order."""
    return np.sort(clean(nodes, mode)[0].voxel).tolist()


def test_all_largest_and_openings_keep_what_they_say():
    assert kept(row_of("oo.ooo.o"), "all") == [0, 1, 3, 4, 5, 7]
    assert kept(row_of("oo.ooo.o"), "largest") == [3, 4, 5]
    assert kept(row_of("oo.ooo.oo", periodic=True), "largest") == [0, 1, 7, 8]
    assert kept(row_of("0oo.oooo.oo1", openings=(INLET, OUTLET)), "openings") == [1, 2, 9, 10]


def test_openings_that_nothing_joins_are_told():
    """A run between them said that it was not steady, and asked for more steps."""
    assert clean(row_of("0oo.oooo.oo1", openings=(INLET, OUTLET)), "openings")[1].alone == ("inlet", "outlet")
    assert clean(row_of(".oo.0oo1", openings=(INLET, OUTLET)), "openings")[1].alone == ()
    assert clean(row_of("0oo.oo", openings=(INLET,)), "openings")[1].alone == ()


def test_a_cleaned_list_is_the_list_of_the_cleaned_image():
    found, _ = clean(row_of("0oo.oooo.oo1", openings=(INLET, OUTLET)), "openings")
    expected = row_of("0oo......oo1", openings=(INLET, OUTLET))
    for name in ("voxel", "group_start", "label_voxel", "label_number"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_cleaning_keeps_the_cuts_of_the_nodes_it_keeps():
    nodes = cut_links(row_of("oo.ooo.o"), RoundWall(np.array([[2.0, 0.0, 0.0], [6.0, 0.0, 0.0]]), 0.25))
    found, _ = clean(nodes, "largest")
    assert found.cuts.voxel.tolist() == [3, 5] and found.cuts.distance.tolist() == [0.75, 0.75]


def test_voxels_that_share_an_edge_are_not_connected():
    assert component_labels(build_nodes(Voxels(np.eye(3, dtype=FLAG_DTYPE)[None]))).max() == 2


def test_components_connect_along_every_axis():
    flags = np.zeros((3, 3, 3), FLAG_DTYPE)
    flags[0, 0, :] = flags[0, :, 2] = flags[:, 2, 2] = FLUID
    assert component_labels(build_nodes(Voxels(flags))).max() == 0


@pytest.mark.parametrize("stretch", [1, 7, 50])
def test_components_do_not_depend_on_the_stretches_that_threads_follow(stretch):
    fluid = np.random.default_rng(5).random((9, 8, 7)) < 0.35
    nodes = build_nodes(Voxels(np.where(fluid, FLUID, 0).astype(FLAG_DTYPE), periodic=(True, False, True)))
    whole = component_labels(nodes)
    assert whole.max() > 5 and np.array_equal(component_labels(nodes, stretch), whole)


def test_the_report_counts():
    _, report = clean(row_of("oo.ooo.o"), "largest")
    assert (report.n_kept, report.n_dropped, report.n_components) == (3, 3, 3)
    assert str(report) == "keep = largest: 3 of 6 fluid nodes kept, 3 dropped (3 connected components found)"


def test_one_component_is_no_plural():
    assert str(clean(row_of("oo"), "all")[1]).endswith("(1 connected component found)")


@pytest.mark.parametrize("mode", MODES)
def test_cleaning_twice_is_cleaning_once(mode):
    once, _ = clean(row_of("0oo.oooo.oo1" if mode != "largest" else "0ooo1.oo", openings=(INLET, OUTLET)), mode)
    twice, report = clean(once, mode)
    assert np.array_equal(once.voxel, twice.voxel) and report.n_dropped == 0


def test_an_unknown_mode_is_refused():
    with pytest.raises(GeometryError, match="keep is 'biggest'; allowed: openings, largest, all"):
        clean(row_of("oo"), "biggest")


def test_openings_mode_without_openings_is_refused():
    with pytest.raises(
        GeometryError, match="no fluid touches an opening; give openings .* or keep = 'largest' or 'all'"
    ):
        clean(row_of("oo"), "openings")


@pytest.mark.parametrize("mode", MODES)
def test_an_opening_that_touches_no_fluid_is_refused(mode):
    with pytest.raises(GeometryError, match=re.escape("opening 'outlet' (centre (9.0, 0.0, 0.0) m) touches no fluid")):
        clean(row_of("0oo...1", openings=(INLET, OUTLET)), mode)


def test_an_opening_that_loses_its_fluid_is_refused():
    with pytest.raises(GeometryError, match="opening 'outlet' .* move its plane into the vessel or remove it"):
        clean(row_of("0ooo.o1", openings=(INLET, OUTLET)), "largest")
