"""Cases with a free surface: what they start with, how they continue, and what they may not ask for."""

import csv
import json
import re

import numpy as np
import pytest

from muphy_lb.base.errors import DivergedError, InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.measure.shear.wall_shear import WallShear
from muphy_lb.physics.free_surface.cells import CELL, GAS, INTERFACE, LIQUID, MASS, is_liquid
from muphy_lb.run.checkpoint import restore
from muphy_lb.run.description import describe_case
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver

BOX = {"box_m": [[-1.0, -1.0, -1.0], [8.5e-3, 11.5e-3, 1.0]]}
DAM = {
    "title": "dam",
    "geometry": {"shape": "tank", "spacing_m": 1e-3, "options": {"length": 30, "height": 20}},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 5e-5},
    "flow": {"acceleration_m_s2": [0.0, -9.81, 0.0]},
    "free_surface": {"liquid": [BOX]},
    "lattice": {"name": "D2Q9", "time_step_s": 1e-4},
    "compute": {"backend": "numpy", "precision": "fp64"},
    "run": {"steps": 30, "check_interval_steps": 10},
    "output": {"series_every_steps": 10, "picture": False, "report": False},
}

MOVING = {"lattice_velocity": 0.05, "reference_velocity_m_s": 0.1}
FLOOR = {"name": "belt", "box_m": [[-1.0, -0.4e-3, -1.0], [1.0, 0.4e-3, 1.0]]}
SLIPPING = FLOOR | {"slip": True}
BELT = {"geometry": {"shape": "channel"}, "walls": [FLOOR | {"velocity_m_s": [0.1, 0.0, 0.0]}]}


def tables(**changes):
    """The tables of the case with some keys changed, by section."""
    found = {name: {**table} if isinstance(table, dict) else table for name, table in DAM.items()}
    for name, keys in changes.items():
        found[name] = {**found.get(name, {}), **keys}
    return found


def dam(**changes):
    """The case with some keys changed."""
    return case_from_dict(tables(**changes))


def test_liquid_starts_with_the_pressure_of_its_depth():
    simulation = Solver(dam())
    gravity = float(simulation.units.acceleration_to_lattice(9.81))
    cell, mass = simulation.model_field(CELL), simulation.model_field(MASS)
    density = simulation.density().reshape(20, 30)
    assert (cell.reshape(20, 30)[:11, :8] == LIQUID).all() and (cell.reshape(20, 30)[13:] == GAS).all()
    depth = 11.5 - np.arange(11)
    assert density[:11, 3] == pytest.approx(1.0 + 3.0 * gravity * depth, abs=1e-12)
    held = np.where(is_liquid(cell), simulation.density(), 0.0).sum() + mass.sum()
    assert held == pytest.approx(9 * 12, rel=0.02)
    assert np.isnan(simulation.field("fill")).sum() == 0 and simulation.field("fill").sum() == pytest.approx(9 * 12)


@pytest.mark.parametrize("high", [{"box_m": [[-1.0, -1.0, -1.0], [1.0, 5.0, 1.0]]}, {"level_m": 5.0}])
def test_what_lies_above_the_geometry_has_no_weight(high):
    full = {"box_m": [[-1.0, -1.0, -1.0], [1.0, 0.0195, 1.0]]}
    there, above = (Solver(dam(free_surface={"liquid": [liquid]})).density() for liquid in (full, high))
    assert np.array_equal(there, above) and there.max() - 1.0 < 0.1


def test_liquid_that_ends_at_a_periodic_edge_starts_with_a_surface_there_and_keeps_its_mass():
    geometry = {"shape": "tank", "spacing_m": 1e-3, "periodic": ["x"], "options": {"length": 30, "height": 20}}
    simulation = Solver(dam(geometry=geometry, flow={"acceleration_m_s2": [3.0, -9.81, 0.0]}))
    for _ in range(4):
        cell = simulation.model_field(CELL).reshape(20, 30)
        cell = np.where(is_liquid(cell), LIQUID, cell)
        for up, along in ((0, 1), (1, 0), (1, 1), (1, -1)):
            beside = np.roll(cell, -along, axis=1)[up:]
            pairs = {(int(a), int(b)) for a, b in zip(cell[: 20 - up].flat, beside.flat, strict=True)}
            assert not pairs & {(LIQUID, GAS), (GAS, LIQUID)}
        simulation.step(25)
    assert (cell[:11, 29] != GAS).any()
    assert simulation.health().mass_drift == pytest.approx(0.0, abs=1e-12)


def test_a_drop_starts_with_the_pressure_of_its_surface_and_its_velocity():
    drop = {"centre_m": [15e-3, 10e-3, 0.0], "radius_m": 6e-3, "velocity_m_s": [0.1, 0.0, 0.0]}
    given = {"liquid": [drop], "surface_tension_n_m": 0.07}
    simulation = Solver(dam(free_surface=given, flow={"acceleration_m_s2": [0.0, 0.0, 0.0]}))
    assert simulation.pressure_pa().max() == pytest.approx(0.07 / 6e-3, rel=1e-6)
    assert simulation.velocity_m_s()[:, 0].max() == pytest.approx(0.1, rel=1e-9)


def test_a_new_state_in_the_middle_of_a_run_forgets_where_cells_were_held():
    simulation = Solver(dam())
    simulation.step(60)
    n_nodes, is_wet = simulation.domain.n_nodes, simulation.model_field(CELL) != GAS
    simulation.engine.start_from(np.ones(n_nodes), np.zeros((3, n_nodes)))
    assert np.abs(simulation.density()[is_wet] - 1.0).max() < 1e-14


def test_liquid_starts_as_an_image_says(tmp_path):
    shares = np.zeros((1, 20, 30))
    shares[0, :10, 4:8], shares[0, 10, 4:8] = 1.0, 0.25
    np.save(tmp_path / "liquid.npy", shares)
    simulation = Solver(case_from_dict(tables(free_surface={"liquid": [{"image_file": "liquid.npy"}]}), tmp_path))
    cell = simulation.model_field(CELL).reshape(20, 30)
    assert is_liquid(cell[:10, 5:7]).all() and (cell[10, 4:8] == INTERFACE).all() and (cell[:10, 4] == INTERFACE).all()
    assert np.array_equal(simulation.field("fill").reshape(20, 30), shares[0])
    gravity = float(simulation.units.acceleration_to_lattice(9.81))
    assert simulation.density().reshape(20, 30)[0, 5] == pytest.approx(1.0 + 30.0 * gravity)


def test_drops_start_as_a_list_says(tmp_path):
    (tmp_path / "drops.txt").write_text("7e-3 10e-3 0 4e-3\n20e-3 10e-3 0 5e-3\n")
    given = {"liquid": [{"spheres_file": "drops.txt"}], "surface_tension_n_m": 0.03}
    simulation = Solver(case_from_dict(tables(free_surface=given), tmp_path))
    pressure = simulation.pressure_pa().reshape(20, 30)
    assert pressure[10, 7] == pytest.approx(0.03 / 4e-3, rel=1e-6)
    assert pressure[10, 20] == pytest.approx(0.03 / 5e-3, rel=1e-6)
    assert simulation.field("fill").sum() == pytest.approx(np.pi * (16 + 25), rel=0.01)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        (np.zeros((2, 2)), "liquid.npy holds float64 of shape .2, 2.; it must hold numbers of shape .1, 20, 30."),
        (np.full((1, 20, 30), 2.0), "values from 2 to 2; allowed: shares from 0 to 1"),
        (np.full((1, 20, 30), np.nan), "values from nan to nan; allowed"),
    ],
)
def test_an_image_that_is_none_of_the_liquid_is_refused(shares, message, tmp_path):
    np.save(tmp_path / "liquid.npy", shares)
    with pytest.raises(InputError, match=message):
        Solver(case_from_dict(tables(free_surface={"liquid": [{"image_file": "liquid.npy"}]}), tmp_path))


def test_the_series_tells_volume_and_energies(tmp_path):
    Run(Solver(dam(run={"steps": 90}, output={"series_every_steps": 30})), tmp_path).execute()
    with open(tmp_path / "free_surface.csv") as file:
        rows = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
    assert [row["step"] for row in rows] == [30, 60, 90]
    assert rows[-1]["volume_m3"] == pytest.approx(rows[0]["volume_m3"], rel=1e-12)
    assert rows[0]["kinetic_energy_j"] < rows[-1]["kinetic_energy_j"]
    assert rows[0]["potential_energy_j"] > rows[-1]["potential_energy_j"]
    gained = rows[-1]["kinetic_energy_j"] - rows[0]["kinetic_energy_j"]
    assert gained < rows[0]["potential_energy_j"] - rows[-1]["potential_energy_j"]
    assert rows[-1]["x_max_m"] > 8.5e-3 and rows[-1]["y_min_m"] == pytest.approx(-0.5e-3)


def test_the_summary_tells_the_reynolds_and_froude_number_reached(tmp_path):
    simulation = Solver(dam(run={"steps": 300}, output={"series_every_steps": 100}))
    Run(simulation, tmp_path).execute()
    record = json.loads((tmp_path / "summary.json").read_text())["free_surface"]
    with open(tmp_path / "free_surface.csv") as file:
        speeds = [float(row["max_velocity_m_s"]) for row in csv.DictReader(file)]
    speed, height_m = record["largest_velocity_m_s"], 12e-3
    assert speed == max(speeds) and 0.3 < speed / np.sqrt(2.0 * 9.81 * height_m) < 1.5
    full = is_liquid(simulation.model_field(CELL))
    fastest = np.linalg.norm(simulation.velocity_m_s()[full], axis=1).max()
    assert speeds[-1] == pytest.approx(fastest, rel=1e-9)
    assert record["reynolds"] == pytest.approx(speed * height_m / 5e-5)
    assert record["froude"] == pytest.approx(speed / np.sqrt(9.81 * height_m))


def test_walls_beside_gas_have_no_shear_and_those_beside_partly_filled_voxels_that_of_the_liquid():
    simulation = Solver(dam())
    simulation.step(100)
    shear, nodes, cell = WallShear(simulation), simulation.nodes, simulation.model_field(CELL)
    traction = np.linalg.norm(shear.traction_pa(), axis=1)
    inner = np.maximum(shear.surface.inwards[:, 0], 0)
    is_full, is_inner_full = (
        is_liquid(cell[np.searchsorted(nodes.voxel, voxel)]) for voxel in (shear.surface.voxel, inner)
    )
    is_told = is_full | is_inner_full & (shear.surface.inwards[:, 0] >= 0)
    assert np.isfinite(traction).all() and not traction[~is_told].any() and (traction[is_told] > 0.0).mean() > 0.9
    assert 0 < is_full.sum() <= is_told.sum() < is_told.size


def test_a_pool_at_rest_hardly_shears_its_walls():
    pool = {"liquid": [{"level_m": 10.3e-3}]}
    simulation = Solver(dam(free_surface=pool))
    simulation.step(200)
    traction = np.linalg.norm(WallShear(simulation).traction_pa(), axis=1)
    full = is_liquid(simulation.model_field(CELL))
    fastest_m_s = np.linalg.norm(simulation.velocity_m_s()[full], axis=1).max()
    assert traction.max() < 5.0 * 1000.0 * 5e-5 * fastest_m_s / 0.5e-3


def test_a_run_whose_body_force_ends_at_zero_tells_its_froude_number(tmp_path):
    flow = {"acceleration_m_s2": [0.0, -9.81, 0.0], "waveform": {"period_s": 4e-3, "mean": 0.5, "cosine": [-0.5]}}
    Run(Solver(dam(flow=flow, run={"steps": 40})), tmp_path).execute()
    record = json.loads((tmp_path / "summary.json").read_text())["free_surface"]
    assert record["froude"] == pytest.approx(record["largest_velocity_m_s"] / np.sqrt(9.81 * 12e-3))


@pytest.mark.parametrize(
    ("fluid", "lattice", "words"),
    [
        (5e-5, {}, None),
        (1e-6, {}, "the liquid is not resolved: the cell Reynolds number, .* is 485, above 10; set geometry.sp"),
        (1e-6, {"smagorinsky": 0.17, "collision": "recursive-regularised"}, None),
        (5e-5, {"time_step_s": 5e-4}, "reaches 0.243 voxels a step, above 0.2: set lattice.time_step_s = 0.0002"),
        (
            5e-5,
            {"time_step_s": None, **MOVING},
            "reaches 0.243 voxels a step, above 0.2: set lattice.lattice_velocity = 0.02",
        ),
    ],
    ids=["resolved", "water", "water with an eddy viscosity", "too fast", "too fast, by a velocity"],
)
def test_falls_that_the_lattice_does_not_resolve_are_warned_of(fluid, lattice, words):
    fluids = {"kinematic_viscosity_m2_s": fluid}
    (physics,) = Solver(dam(fluid=fluids, lattice=lattice)).physics
    assert bool(physics.warnings()) == bool(words)
    assert words is None or re.search(words, physics.warnings()[0])


@pytest.mark.parametrize(("time_step_s", "is_warned"), [(1.5e-4, False), (2e-4, True)])
def test_walls_that_move_beneath_liquid_that_its_weight_makes_denser_are_warned_of(time_step_s, is_warned):
    """Their momentum is that of the density of the case: they move the liquid too slowly by that share."""
    case = tables(lattice={"time_step_s": time_step_s}, geometry=BELT["geometry"]) | {"walls": BELT["walls"]}
    told = Solver(case_from_dict(case)).physics[0].warnings()
    assert len(told) == is_warned and all(re.search("denser at the bottom.* set lattice.time_step_s", x) for x in told)


def test_walls_that_are_wet_and_have_been_are_counted_in_faces(tmp_path):
    output = {"series_every_steps": 40, "checkpoint_every_steps": 80, "fields": ["wetted"], "fields_every_steps": 0}
    simulation = Solver(dam(run={"steps": 120}, output=output))
    share = simulation.field("fill").reshape(20, 30)
    assert np.array_equal(simulation.field("wetted").reshape(20, 30)[1:-1, 0], share[1:-1, 0].astype(np.float32))
    assert not simulation.field("wetted").reshape(20, 30)[1:-1, 1:-1].any()
    Run(simulation, tmp_path).execute()
    with open(tmp_path / "free_surface.csv") as file:
        rows = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
    now, ever = ([1e6 * row[name] for row in rows] for name in ("wetted_area_m2", "ever_wetted_area_m2"))
    share = simulation.field("fill").reshape(20, 30)
    assert now[-1] == pytest.approx(share[0].sum() + share[-1].sum() + share[:, 0].sum() + share[:, -1].sum())
    assert ever[0] >= 21.0 - 0.2 and ever == sorted(ever) and ever[-1] > now[-1] + 0.1 and now[-1] > now[0]
    resumed = Solver(dam(run={"steps": 120}, output=output))
    found = restore(tmp_path / "checkpoints", resumed)
    assert np.array_equal(found.states["free_surface"]["ever_wetted"], simulation.physics[0].wetting.ever)


UNRESOLVED = {
    "geometry": {"shape": "tank", "spacing_m": 1.0, "options": {"length": 32, "height": 20}},
    "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.006},
    "flow": {"acceleration_m_s2": [0.0, -3.125e-4, 0.0]},
    "free_surface": {"liquid": [{"box_m": [[-1.0, -1.0, -1.0], [9.5, 15.5, 1.0]]}], "surface_tension_n_m": 0.0468},
}
"""A dam whose splashes are not resolved: the Laplace number of a voxel is 1300."""


def unresolved(collision: str, **changes) -> Solver:
    """The dam with a collision, and with some keys changed."""
    lattice = {"time_step_s": 1.0, "collision": collision, **changes.pop("lattice", {})}
    return Solver(dam(**{**UNRESOLVED, "lattice": lattice, **changes}))


def filled_to(height: float) -> dict:
    """Changes of the dam for a column of another height, compiled."""
    box = {"box_m": [[-1.0, -1.0, -1.0], [9.5, height, 1.0]]}
    return {"compute": {"backend": "cpu"}, "free_surface": UNRESOLVED["free_surface"] | {"liquid": [box]}}


def test_an_unresolved_dam_with_tension_ends_with_the_collision_that_is_warned_of():
    """With trt its Mach number passes 0.5 before step 900."""
    warned = unresolved("trt", **filled_to(17.5))
    assert "is 1.3e+03, above 3," in warned.describe() and "'recursive-regularised'" in warned.describe()
    with pytest.raises(DivergedError, match="The likely cause: lattice.collision is 'trt' with surface tension"):
        warned.step(900)


@pytest.mark.parametrize("height", [13.5, 15.5, 17.5])
def test_an_unresolved_dam_with_tension_stays_finite_with_the_collision_that_the_warning_names(height):
    named = unresolved("recursive-regularised", **filled_to(height))
    named.step(900)
    assert "Laplace" not in named.describe()
    assert named.health().max_speed < 0.25 and named.health().mass_drift == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("changes", "is_warned"),
    [
        ({}, True),
        ({"free_surface": UNRESOLVED["free_surface"] | {"surface_tension_n_m": 0.0}}, False),
        ({"free_surface": UNRESOLVED["free_surface"] | {"surface_tension_n_m": 1e-4}}, False),
    ],
    ids=["unstable", "without tension", "small tension"],
)
def test_a_collision_is_warned_of_where_surface_tension_is_unstable_with_it(changes, is_warned):
    flow = unresolved("mrt", **changes)
    assert ("Laplace number of a voxel" in flow.describe()) == is_warned
    told = describe_case(flow.case)
    assert ("Laplace number of a voxel" in told) == is_warned and "free surface: gas at density 1" in told


def test_a_value_that_is_not_finite_ends_the_run_with_its_place():
    simulation = Solver(dam())
    populations = simulation.engine.populations()
    populations[1, simulation.domain.voxel == 3 * 30 + 4] = np.nan
    simulation.engine.set_populations(populations)
    with pytest.raises(DivergedError, match=r"not finite at voxel \(4, 3, 0\)"):
        simulation.health()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compute": {"streaming": "push"}}, "compute.streaming is 'push' .* allowed: 'pull', 'aa'"),
        ({"compute": {"precision": "fp16"}}, "compute.precision is 'fp16'"),
        ({"lattice": {"equilibrium": "incompressible"}}, "lattice.equilibrium is 'incompressible'"),
        ({"lattice": {"walls": "bouzidi"}}, "lattice.walls is 'bouzidi'"),
        (
            {"free_surface": {"liquid": [{"box_m": [[1.0, 1.0, -1.0], [2.0, 2.0, 1.0]]}]}},
            "no voxel .* has liquid in it",
        ),
        ({"free_surface": {"liquid": [{"level_m": -1.0}]}}, r"the box of voxels is \(.*\) to \(.*\) m"),
        (
            {"flow": {"acceleration_m_s2": [0.0, -981.0, 0.0]}},
            r"density of the liquid differs by .* allowed: 0.3; set lattice.time_step_s = .*acceleration_m_s2",
        ),
        (
            {"free_surface": {"liquid": [BOX, {"centre_m": [0.5, 0.0, 0.0], "radius_m": 5e-3}]}},
            "no voxel of the geometry has liquid of table number 2 in it",
        ),
        (
            {"free_surface": {"liquid": [BOX | {"velocity_m_s": [3.0, -4.0, 0.0]}]}},
            r"velocity_m_s is \[3.0, -4.0, 0.0\], which is Mach number 0.866 .* up to 0.3; .* of at most 3.46e-05 s",
        ),
        ({"free_surface": {"liquid": []}}, "free_surface.liquid"),
        ({"free_surface": {"liquid": [BOX | {"level_m": 0.1}]}}, "box_m.*level_m"),
        ({"free_surface": {"liquid": [{"radius_m": 0.1, "level_m": 0.1}]}}, "neither centre_m nor spheres_file"),
        ({"free_surface": {"liquid": [BOX], "surface_tension_n_m": 50.0}}, "surface_tension_n_m is 50.*allowed: up to"),
        (
            {"free_surface": {"liquid": [BOX], "contact_angle_deg": 60.0}},
            "contact_angle_deg = 60.0 and no surface tension.*give surface_tension_n_m, or remove",
        ),
        (
            {"free_surface": {"liquid": [BOX], "surface_tension_n_m": 0.05, "contact_angle_deg": 181.0}},
            "contact_angle_deg",
        ),
        ({"free_surface": {"liquid": [BOX], "gas_pressure_pa": -1e6}}, "gas_pressure_pa is -1e.06.*allowed"),
        (
            {"flow": {"acceleration_m_s2": [0.0, 0.0, 0.0]}, "free_surface": {"liquid": [{"level_m": 0.01}]}},
            "level_m needs a direction",
        ),
        ({"particles": {}}, "particles"),
        (BELT | {"compute": {"streaming": "aa"}}, "'aa' .* and the moving wall 'belt', which overwrites .*'pull'"),
        ({**BELT, "walls": [SLIPPING]}, "walls.belt.slip is true with .free_surface."),
    ],
)
def test_what_does_not_go_with_it_is_refused(changes, message):
    walls = {"walls": changes["walls"]} if "walls" in changes else {}
    case = tables(**{name: keys for name, keys in changes.items() if name != "walls"}) | walls
    with pytest.raises(InputError, match=message):
        Solver(case_from_dict(case))
