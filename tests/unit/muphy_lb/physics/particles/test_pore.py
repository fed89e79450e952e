"""A pore is found by itself, and beads that go through it are counted and timed."""

import json

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.catalogue import build_shape, nanopore
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels
from muphy_lb.output.series import read_series
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.particles.beads.observers import PORE, pore_of
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.channel import periodic_channel

LENGTH, WIDTH, THICKNESS, RADIUS = 20, 10, 4, 2.6


def test_a_nanopore_is_a_hole_of_its_radius_in_a_membrane_of_its_thickness():
    voxels = nanopore(length=60, width=40, thickness=9, radius=12.3, ends="periodic")
    area = (voxels.flags == FLUID).sum(axis=(0, 1))
    assert np.count_nonzero(area < 40 * 40) in (8, 9, 10) and area.min() == pytest.approx(np.pi * 12.3**2, rel=0.02)
    assert voxels.periodic == (True, True, True)
    start = np.array([[29.5, 19.5 + 12.0, 19.5], [24.5, 2.0, 2.0]])
    assert voxels.wall_shape.distances(start[:1], np.array([0, 1, 0])) == pytest.approx([12.3 - 12.0])
    assert voxels.wall_shape.distances(start[1:], np.array([1, 0, 0])) == pytest.approx([29.5 - 4.5 - 24.5])
    names = [opening.name for opening in nanopore(ends="open").openings]
    assert names == ["inlet", "outlet"]


@pytest.mark.parametrize("options", [{"thickness": 60}, {"radius": 12.0}])
def test_a_pore_that_does_not_fit_is_refused(options):
    with pytest.raises(GeometryError, match="a thickness below length, a radius below half of width"):
        nanopore(**options)


def test_the_plane_across_a_pore_is_found_where_there_is_one():
    nodes = build_nodes(build_shape("stenosis", length=60, radius=9.0, severity=0.75, extent=12.0, ends="periodic"))
    pore = pore_of(nodes)
    assert pore.normal == (1.0, 0.0, 0.0)
    assert (pore.point_m[0] - nodes.origin_m[0]) / nodes.spacing_m == pytest.approx(29.5, abs=0.51)
    for shape, options in (("pipe", {"length": 8}), ("sphere_pack", {"size": 16, "radius": 4.0, "porosity": 0.5})):
        assert pore_of(build_nodes(build_shape(shape, **options))) is None


def test_two_pores_in_series_have_no_plane_in_the_chamber_between_them():
    flags = np.full((6, 6, 20), FLUID, dtype=FLAG_DTYPE)
    for x in (6, 13):
        flags[..., x] = SOLID
        flags[2:4, 2:4, x] = FLUID
    assert pore_of(build_nodes(Voxels(flags, spacing_m=1.0))) is None
    flags[..., 13] = FLUID
    assert pore_of(build_nodes(Voxels(flags, spacing_m=1.0))).point_m[0] == 6.0


def test_beads_that_are_pulled_through_a_pore_are_counted_and_timed_without_a_plane(tmp_path):
    spacing_m, n = 1e-3, 3
    middle = [0.5 * (WIDTH - 1)] * 2
    places = [[spacing_m * x, *(spacing_m * y for y in middle)] for x in (3.0, 4.5, 6.0)]
    beads = {
        "name": "chain",
        "kind": "beads",
        "positions_m": places,
        "mass_kg": 3e-6,
        "friction_kg_s": 1e-4,
        "coupling": "at-rest",
        "pull": {"force_n": [6e-7, 0.0, 0.0]},
    }
    options = {"length": LENGTH, "width": WIDTH, "thickness": THICKNESS, "radius": RADIUS}
    case = periodic_channel(
        geometry={"shape": "nanopore", "options": options},
        walls=[],
        lattice={"name": "D3Q19"},
        particles=[beads],
        run={"steps": 240},
        output={"series_every_steps": 2, "report": False},
    )
    Run(Solver(case, SerialCommunicator()), tmp_path).execute()
    series = read_series(tmp_path / "particles_chain.csv")
    through = series[f"{PORE}_crossed"]
    assert through[0] == 0 and through[-1] == n and np.all(np.diff(through) >= 0)
    record = json.loads((tmp_path / "summary.json").read_text())["particles_chain"]
    speed_m_s = 6e-7 / 1e-4
    assert record["translocation_time_s"] == pytest.approx(3e-3 / speed_m_s, rel=0.05)
    assert record["translocation_begins_s"] == pytest.approx((0.5 * (LENGTH - 1) - 6.0) * 1e-3 / speed_m_s, rel=0.1)
