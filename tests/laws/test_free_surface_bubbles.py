"""Bubbles: gas is compressed, shared and added up to the last bit, and nothing depends on ranks or on the backend."""

import numpy as np
import pytest

from muphy_lb.base.precision import FP32, FP64
from muphy_lb.boundaries.opening_geometry import Condition
from muphy_lb.boundaries.profiles import parabolic
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.operators import VELOCITY
from muphy_lb.physics.free_surface.bubbles import VOXEL, GasLaw, region_labels, shared
from muphy_lb.physics.free_surface.cells import (
    BARED,
    BUBBLE,
    CELL,
    DRAINED,
    EMPTIED,
    FILL,
    GAS,
    INTERFACE,
    LIQUID,
    MASS,
    NEEDED,
    SHORE,
)
from muphy_lb.physics.free_surface.operators.conversion import INHERIT
from muphy_lb.physics.free_surface.start import BoxRegion
from tests.free_surface import SurfaceSetup, Tank, tank
from tests.support import random_owner, random_voxels, with_openings

AT_REST = np.zeros(3)
EVERYWHERE = BoxRegion(AT_REST, np.full(3, -9.0), np.full(3, 99.0))
SOFT = GasLaw(absolute=0.3, deviation=0.0, gamma=1.0, largest=0.3)
BACKENDS = pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])


def put_cells(flow: Tank, picture: str) -> None:
    """Overwrite all cells by a picture, the highest row first: ``.`` gas, ``o`` half filled, ``#`` liquid."""
    rows = np.array([list(row) for row in picture.split()][::-1])
    cell = np.select([rows == ".", rows == "o"], [GAS, INTERFACE], LIQUID).ravel()
    for engine in flow.ranks.engines:
        own = cell[engine.domain.number]
        share = np.where(own == INTERFACE, 0.5, 0.0)
        for name, values in ((CELL, own), (FILL, share), (MASS, share)):
            engine.fields.set(name, values)


def with_cells(picture: str, n_ranks: int = 1) -> Tank:
    """A flow with the cells of a picture, and its bubbles."""
    rows = picture.split()
    nodes = tank((1, len(rows), len(rows[0])))
    flow = Tank(nodes, SurfaceSetup(D2Q9, law=SOFT), [EVERYWHERE], random_owner(nodes, n_ranks))
    put_cells(flow, picture)
    flow.start_actions()
    return flow


def labels(flow: Tank) -> np.ndarray:
    """(n,) labels of all cells in node-list order."""
    found = np.empty(flow.nodes.n_nodes, dtype=int)
    work = flow.ranks.each(lambda engine: region_labels(engine.actions.arrays, engine.fields.get(CELL, 0)))
    for engine, some in zip(flow.ranks.engines, work, strict=True):
        found[engine.domain.number] = some
    return found


# A film of two interface cells keeps bubbles apart; a pocket without gas joins the bubble beside it, or is its own.
FIVE = """
    ####o########o
    #ooo#####ooo##
    #o.oooo##o.o##
    #oooo.o##ooo##
    ####ooo#####oo
    ############o.
"""


@pytest.mark.parametrize("n_ranks", [1, 2, 3])
def test_a_region_has_the_smallest_voxel_of_its_gas_as_its_label(n_ranks):
    flow = with_cells(FIVE, n_ranks)
    regions, found = flow.bubbles().regions, labels(flow)
    assert regions.label.tolist() == [12, 18, 29, 37, 83]
    assert (regions.volume / VOXEL).tolist() == [2.5, 5.0, 5.5, 5.0, 0.5]
    assert np.array_equal(regions.content, regions.volume)
    has_gas = flow.field(CELL) != LIQUID
    assert (found[~has_gas] == -1).all() and found[5 * 14 + 4] == 29
    assert np.array_equal(regions.label[flow.field(BUBBLE).astype(int)][has_gas], found[has_gas])


def test_a_region_that_winds_through_all_ranks_has_one_label():
    """Each rank has every third column, so that the label crosses between ranks again and again."""
    rows = np.full((9, 30), "#")
    rows[1:8:2] = "."
    rows[2:8:4, -1] = rows[4:8:4, 0] = "."
    picture = "\n".join("".join(row) for row in rows)
    nodes = tank((1, 9, 30))
    flow = Tank(nodes, SurfaceSetup(D2Q9, law=SOFT), [EVERYWHERE], nodes.coordinates()[:, 0].astype(int) % 3)
    put_cells(flow, picture)
    flow.start_actions()
    assert flow.bubbles().regions.label.tolist() == [30]
    assert flow.bubbles().regions.volume.tolist() == [(4 * 30 + 3) * VOXEL]


APART = """
    ###########
    #ooo###ooo#
    #o.o###o.o#
    #ooo###ooo#
    ###########
"""
TOGETHER = """
    ###########
    #ooooooooo#
    #o.......o#
    #ooooooooo#
    ###########
"""


@pytest.mark.parametrize("n_ranks", [1, 3])
def test_bubbles_that_merge_add_up_and_parts_of_one_share_by_volume(n_ranks):
    flow = with_cells(APART, n_ranks)
    before = flow.bubbles().regions
    assert before.label.tolist() == [12, 18] and before.content.tolist() == [5 * VOXEL] * 2
    put_cells(flow, TOGETHER)
    flow.ranks.each(lambda engine: engine.actions.act(4))
    merged = flow.bubbles().regions
    assert merged.label.tolist() == [12] and merged.content.tolist() == [10 * VOXEL]
    assert merged.volume.tolist() == [(7 + 20 // 2) * VOXEL]
    put_cells(flow, "\n".join(("#" * 11, "#" * 11, "#o.o##o..o#", "#ooo##oooo#", "#" * 11)))
    flow.ranks.each(lambda engine: engine.actions.act(8))
    split = flow.bubbles().regions
    assert split.label.tolist() == [12, 17] and (split.volume / VOXEL).tolist() == [3.5, 5.0]
    assert split.content.sum() == 10 * VOXEL and flow.bubbles().dissolved == 0
    assert np.abs(split.content / VOXEL - [10 * 3.5 / 8.5, 10 * 5.0 / 8.5]).max() < 2e-9


def test_the_gas_of_regions_that_are_filled_is_counted():
    flow = with_cells(APART)
    put_cells(flow, "\n".join(("#" * 11, "#ooo#######", "#o.o#######", "#ooo#######", "#" * 11)))
    flow.ranks.each(lambda engine: engine.actions.act(4))
    assert flow.bubbles().dissolved == 5 * VOXEL and flow.bubbles().regions.content.tolist() == [5 * VOXEL]


@pytest.mark.parametrize("is_specified", [True, False])
def test_liquid_that_is_bared_belongs_to_the_gas_that_vanishes_beside_it_or_else_to_that_of_its_column(is_specified):
    """At a contact angle the plane of a column may leave liquid beside which no cell vanishes. A drained cell keeps its
    gas, which its neighbours read."""
    cell, found = np.full(9, LIQUID, np.uint8), []
    cell[5] = INTERFACE | EMPTIED | NEEDED
    for own in (SHORE | BARED, SHORE | BARED, INTERFACE | DRAINED):
        cell[0] = own
        bubble, neighbours = np.arange(9), np.arange(1, 9)
        if is_specified:
            INHERIT.reference(neighbours[:, None], np.array([0]), D2Q9, {CELL: cell, BUBBLE: bubble})
        else:
            INHERIT.node(D2Q9, FP64, lambda function: function, {CELL: 0, BUBBLE: 1})(neighbours, 0, (cell, bubble))
        found.append(bubble[0])
        cell[7] = INTERFACE | EMPTIED
    assert found == [5, 7, 0]


def test_shares_add_up_to_what_is_shared():
    random = np.random.default_rng(3)
    content = random.integers(1, 1 << 58, 5)
    old, new = np.array([0, 0, 0, 1, 2, 2, 4]), np.array([0, 1, 2, 2, 1, 3, 0])
    volume = np.array([7, 11, 13, 0, 0, 0, 1 << 50])
    found, left = shared(content, np.stack((old, new, volume)), 4)
    assert sum(map(int, found)) + int(content[3]) == sum(map(int, content))
    assert left.tolist() == [0, 0, 0, content[3], 0]
    assert int(found[3]) == 0 and abs(int(found[0]) - int(content[4]) - int(content[0]) * 7 // 31) <= 1


LEFT = BoxRegion(AT_REST, np.full(3, -1.0), np.array([4.2, 99.0, 99.0]))
CUSHIONS = {D2Q9: (1, 26, 20), D3Q19: (6, 14, 10)}


def splash(lattice, owner=None, **changes) -> Tank:
    """Liquid that falls in a tank with obstacles and catches gas under it."""
    nz, ny, nx = CUSHIONS[lattice]
    setup = SurfaceSetup(lattice, rates=(1.8,), force=(1e-4, -6e-4, 0.0), law=SOFT, **changes)
    nodes = tank((nz, ny, nx), 0.08)
    ends = [(np.array([-1.0, low * ny, -1.0]), np.array([nx, high * ny, nz])) for low, high in LAYERS]
    layers = [BoxRegion(AT_REST, *corners) for corners in ends]
    flow = Tank(nodes, setup, layers, None if owner is None else random_owner(nodes, owner))
    flow.start_actions()
    return flow


LAYERS = (0.0, 0.2), (0.35, 0.6)


def state(flow: Tank) -> bytes:
    """All that the next step follows from, bit for bit."""
    bubbles, number = flow.bubbles(), np.where(flow.field(CELL) == LIQUID, 0, flow.field(BUBBLE))
    arrays = *vars(bubbles.regions).values(), number, np.array(bubbles.dissolved)
    return flow.state() + b"".join(array.tobytes() for array in arrays)


@BACKENDS
def test_backends_follow_the_specification(backend):
    """In three dimensions, too: tests/parity/test_surface.py."""
    specified, found = splash(D2Q9), splash(D2Q9, backend=backend)
    for each in (specified, found):
        each.advance(60)
    assert specified.bubbles().regions.label.size > 1
    for name in (CELL, BUBBLE):
        assert np.array_equal(specified.field(name), found.field(name))
    assert np.array_equal(specified.bubbles().regions.label, found.bubbles().regions.label)
    assert np.abs(specified.bubbles().table.array - found.bubbles().table.array).max() < 1e-12
    is_wet = specified.field(CELL) != GAS
    assert np.abs(specified.ranks.populations() - found.ranks.populations())[:, is_wet].max() < 1e-12


ON_NUMPY = ((1, "pull"), (3, "pull"), (2, "aa"))


@pytest.mark.parametrize(
    ("lattice", "backend", "ways"),
    [
        pytest.param(D2Q9, "cpu", ON_NUMPY[:2], id="D2Q9-cpu"),
        pytest.param(D2Q9, "numpy", ON_NUMPY, id="D2Q9-numpy"),
        pytest.param(D3Q19, "numpy", ON_NUMPY, id="D3Q19-numpy", marks=pytest.mark.night),
    ],
)
def test_ranks_and_streaming_change_no_bit(lattice, backend, ways):
    states = set()
    for n_ranks, streaming in ways:
        flow = splash(lattice, n_ranks, backend=backend, streaming=streaming)
        flow.advance(61)
        states.add(state(flow))
    assert len(states) == 1


@pytest.mark.parametrize("precision", [FP64, FP32], ids=lambda precision: precision.name)
def test_gas_is_kept_while_bubbles_merge_and_split(precision):
    flow = splash(D2Q9, precision=precision, search_every=1, backend="cpu" if precision is FP64 else "numpy")
    before, mass = int(flow.bubbles().regions.content.sum()), flow.mass()
    counts = []
    for step in range(0, 600, 20):
        flow.advance(20, step)
        bubbles = flow.bubbles()
        assert int(bubbles.regions.content.sum()) + bubbles.dissolved == before
        assert bubbles.regions.volume.sum() / VOXEL == pytest.approx(flow.gas(), rel=1e-9)
        counts.append(bubbles.regions.label.size)
    assert min(counts) < max(counts) and flow.bad() == 0
    assert flow.mass() == pytest.approx(mass, rel=1e-12 if precision is FP64 else 1e-6)


@pytest.mark.parametrize("gamma", [1.0, 1.4])
def test_liquid_that_rises_compresses_the_gas_over_it(gamma):
    """By a tenth of its volume, slowly enough for one pressure everywhere."""
    nodes = build_nodes(with_openings(random_voxels((1, 5, 24), fluid=1.0)))
    law = GasLaw(absolute=0.3, deviation=0.0, gamma=gamma, largest=0.3)
    inflow = Condition(VELOCITY, 0.01, parabolic), Condition(VELOCITY, 0.0)
    flow = Tank(nodes, SurfaceSetup(D2Q9, backend="cpu", rates=(1.4,), conditions=inflow, law=law), [LEFT])
    flow.start_actions()
    before = flow.gas()
    flow.advance(350)
    ratio, moments = flow.gas() / before, flow.moments()[0]
    regions, pressure = flow.bubbles().regions, 0.3 + flow.bubbles().table.array[0]
    assert regions.label.size == 1 and ratio < 0.9
    at_once = 0.3 + law.change(regions.content, regions.volume)[0]
    assert at_once * ratio**gamma == pytest.approx(0.3, rel=1e-6) and at_once == pytest.approx(pressure, rel=1e-3)
    of_liquid = moments[flow.field(CELL) == LIQUID].mean()
    assert of_liquid == pytest.approx(pressure - 0.3, rel=0.1)  # the start can be heard
