"""Thermal flow from a case file: SI units, what a run writes, resuming, and refusals."""

import csv
import json
import re
import tomllib

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.__main__ import main as prepare
from muphy_lb.physics.thermal.model import METHODS
from muphy_lb.physics.thermal.section import ThermalSection
from muphy_lb.physics.thermal.temperature import set_temperature_k, temperature_k, wall_gradients_k_m
from muphy_lb.run.checkpoint import checkpoint_path, restore, write_checkpoint
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.vessel import changed

COLD, HOT = {"name": "cold", "temperature_k": 293.0}, {"name": "hot", "temperature_k": 303.0}
TABLES = {
    "geometry": {"shape": "heated_cavity", "spacing_m": 0.01, "options": {"size": 8, "dimension": 2}},
    "walls": [COLD, HOT],
    "fluid": {"density_kg_m3": 1.2, "kinematic_viscosity_m2_s": 1.5e-5},
    "thermal": {
        "reference_k": 298.0,
        "prandtl": 0.71,
        "rayleigh": 1e3,
        "length_m": 0.08,
        "gravity_m_s2": [0, -9.81, 0],
    },
    "lattice": {"name": "D2Q9", "collision": "mrt", "relaxation_time": 0.55},
    "compute": {"backend": "numpy", "precision": "fp64"},
    "run": {"steps": 300, "ramp_steps": 0},
    "output": {"checkpoint_every_steps": 150, "series_every_steps": 100, "picture": False},
}


def cavity_case(**changes):
    """The case with keys of its tables replaced; what becomes None is left out."""
    tables = {**TABLES, **{name: {} for name in changes if name not in TABLES}}
    for name, change in changes.items():
        tables[name] = {**tables[name], **change} if isinstance(change, dict) else change
        if isinstance(change, dict):
            tables[name] = {key: value for key, value in tables[name].items() if value is not None}
    return case_from_dict({name: table for name, table in tables.items() if table is not None})


def test_a_thermal_run_tells_the_nusselt_number_of_every_wall(tmp_path):
    run = Run(Solver(cavity_case(compute={"backend": "cpu"}, run={"steps": 3000})), tmp_path)
    run.execute()
    heat = json.loads((tmp_path / "summary.json").read_text())["heat"]
    rows = list(csv.DictReader((tmp_path / "heat.csv").open()))
    last = {name: float(value) for name, value in rows[-1].items()}
    assert last["hot_nusselt"] == pytest.approx(heat["walls"]["hot"]["nusselt"], rel=1e-9)
    assert heat["walls"]["cold"]["nusselt"] == pytest.approx(heat["walls"]["hot"]["nusselt"], rel=1e-6)
    assert heat["walls"]["hot"]["nusselt"] == pytest.approx(1.117, rel=0.03)  # de Vahl Davis (1983); 8^2 nodes
    assert 293.0 < heat["lowest_k"] < heat["highest_k"] < 303.0
    page = (tmp_path / "report.html").read_text()
    assert "Nusselt number" in page and f"{heat['walls']['hot']['nusselt']:.5g}" in page


def test_rayleigh_and_prandtl_number_stand_for_expansion_and_diffusivity():
    nu, alpha = 1.5e-5, 1.5e-5 / 0.71
    expansion = 1e3 * nu * alpha / (9.81 * 10.0 * 0.08**3)
    si = {"prandtl": None, "rayleigh": None, "diffusivity_m2_s": alpha, "expansion_1_k": expansion}
    found = []
    for case in (cavity_case(), cavity_case(thermal=si)):
        simulation = Solver(case)
        simulation.step(50)
        found.append(temperature_k(simulation))
    assert np.allclose(*found, rtol=0, atol=1e-11) and np.ptp(found[0]) > 1.0


@pytest.mark.night
def test_heat_that_flows_into_a_wall_sets_the_slope_there():
    """Conduction between a wall at 303 K and one that draws 20 K/m: a straight line."""
    walls = [{"name": "cold", "temperature_gradient_k_m": -20.0}, HOT]
    thermal = {"rayleigh": None, "length_m": None, "expansion_1_k": 0.0}
    simulation = Solver(cavity_case(walls=walls, thermal=thermal))
    simulation.step(12000)
    x_m = 0.01 * (simulation.nodes.coordinates()[:, 0] - 8.5)
    assert np.allclose(temperature_k(simulation), 303.0 + 20.0 * x_m, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"thermal": None}, "has temperatures at cold, hot but no [thermal]"),
        ({"thermal": {"diffusivity_m2_s": 1e-5}}, "needs exactly one of diffusivity_m2_s, prandtl"),
        ({"thermal": {"length_m": None}}, "has rayleigh but no length_m"),
        ({"walls": [COLD | {"temperature_gradient_k_m": 1.0}, HOT]}, "give one of the two"),
        ({"walls": [COLD, HOT | {"temperature_k": 293.0}]}, "needs two different temperatures"),
        ({"thermal": {"prandtl": 0.05}}, "the thermal diffusivity is"),
        (
            {"flow": {"acceleration_m_s2": [1e-6, 0, 0], "waveform": {"period_s": 1.0}}},
            "goes with a uniform constant force only",
        ),
    ],
)
def test_what_cannot_be_is_refused(changes, text):
    with pytest.raises(InputError, match=re.escape(text)):
        Solver(cavity_case(**changes))


def test_a_warm_wall_that_fluid_touches_through_edges_only_is_left_out_of_the_heat(tmp_path):
    corner = {"name": "corner", "box_m": [[-1.0, -1.0, -1.0], [1.0, 0.001, 0.001]], "temperature_k": 310.0}
    geometry = {"shape": "square_duct", "options": {"length": 4, "side": 4}}
    thermal = {"rayleigh": None, "expansion_1_k": 0.0}
    case = cavity_case(geometry=geometry, walls=[corner], thermal=thermal, lattice={"name": "D3Q19"}, run={"steps": 20})
    Run(Solver(case), tmp_path).execute()
    assert next(csv.reader((tmp_path / "heat.csv").open())) == ["step", "time_s", "lowest_k", "highest_k"]


def test_the_case_knows_the_methods_of_the_physics():
    (one,) = ThermalSection.model_fields["method"].metadata
    assert one.names == METHODS


@pytest.mark.parametrize("method", METHODS)
def test_a_conducting_wall_of_a_case_takes_its_share_of_the_difference(method):
    """0.04 m of half the fluid's conductivity resist as much as the 0.08 m of fluid."""
    outer = HOT | {"conductivity_ratio": 0.5, "thickness_m": 0.04}
    thermal = {"rayleigh": None, "expansion_1_k": 0.0, "method": method}
    simulation = Solver(cavity_case(walls=[COLD, outer], thermal=thermal, compute={"backend": "cpu"}))
    simulation.step(12000)
    found = wall_gradients_k_m(simulation)
    assert found == pytest.approx({"cold": 5.0 / 0.08, "hot": -5.0 / 0.08}, rel=1e-6)


@pytest.mark.parametrize("missing", ["conductivity_ratio", "thickness_m", "temperature_k"])
def test_a_wall_that_conducts_needs_all_that_it_takes(missing):
    wall = HOT | {"conductivity_ratio": 0.5, "thickness_m": 0.04}
    del wall[missing]
    with pytest.raises(InputError, match="conductivity_ratio, thickness_m and temperature_k"):
        cavity_case(walls=[COLD, wall])


def test_energy_coupling_needs_two_temperatures():
    thermal = {"rayleigh": None, "expansion_1_k": 0.0, "energy_coupling": 1.0}
    with pytest.raises(InputError, match="two walls or openings of different temperature_k"):
        Solver(cavity_case(walls=[COLD], thermal=thermal))


def plate_case(folder, **changes):
    """Fluid, a plate of four voxels across it, fluid again, from an image."""
    image = np.ones((1, 2, 12), dtype=np.uint8)
    image[..., 0], image[..., -1], image[..., 4:8] = 2, 3, 4
    np.save(folder / "plate.npy", image)
    options = {"fluid_value": 1, "wall_values": {"cold": 2, "hot": 3, "plate": 4}}
    geometry = {"shape": None, "file": str(folder / "plate.npy"), "spacing_m": 0.01, "options": options}
    geometry |= {"periodic": ["y", "z"]} | changes.pop("geometry", {})
    thermal = {"rayleigh": None, "expansion_1_k": 0.0, "method": "double-distribution"} | changes.pop("thermal", {})
    walls = changes.pop("walls", [COLD, HOT, {"name": "plate", "conductivity_ratio": 4.0}])
    return cavity_case(geometry=geometry, thermal=thermal, walls=walls, **changes)


def test_heat_spreads_in_the_voxels_of_a_wall(tmp_path):
    """Four voxels of four times the conductivity resist as much as one of fluid: seven in all."""
    simulation = Solver(plate_case(tmp_path, compute={"backend": "cpu"}))
    simulation.step(4000)
    assert "8 nodes of solids that conduct: plate" in simulation.describe()
    assert np.isclose(wall_gradients_k_m(simulation)["cold"], 10.0 / 0.07, rtol=1e-6)


@pytest.mark.parametrize("outer", [HOT, HOT | {"conductivity_ratio": 0.5, "thickness_m": 0.005}])
def test_a_wall_of_a_temperature_may_lie_behind_one_that_conducts(tmp_path, outer):
    """Six voxels of fluid, then four of four times the conductivity up to the hot wall: seven of fluid in series, and
    eight with a wall of half the conductivity and the thickness of half a voxel. Both walls tell the same heat."""
    plate = {"name": "plate", "conductivity_ratio": 4.0}
    case = plate_case(tmp_path, walls=[COLD, outer, plate], compute={"backend": "cpu"})
    image = np.load(tmp_path / "plate.npy")
    image[..., 1:-1] = 1
    image[..., 7:-1] = 4
    np.save(tmp_path / "plate.npy", image)
    simulation = Solver(case)
    simulation.step(6000)
    expected = 10.0 / (0.07 if outer is HOT else 0.08)
    found = wall_gradients_k_m(simulation)
    assert np.isclose(found["cold"], expected, rtol=1e-6) and np.isclose(found["hot"], -expected, rtol=1e-6)


PLATE_FILE = ("plate.npy", "plate.h5", "--spacing-m", "0.01", "--fluid-value", "1", "--periodic", "yz")
PLATE_WALLS = ("--wall-value", "cold=2", "--wall-value", "hot=3", "--wall-value", "plate=4")


def test_a_case_written_with_all_defaults_keeps_its_conducting_wall(tmp_path):
    """A run is resumed from such a file: ``slip = false`` beside ``conductivity_ratio`` is no contradiction."""
    case = plate_case(tmp_path)
    assert case_from_dict(tomllib.loads(case.to_toml())).to_toml() == case.to_toml()


def prepared_plate(folder, monkeypatch, *options):
    """The plate from a file that the geometry command made, in tables for :func:`plate_case`."""
    plate_case(folder)
    monkeypatch.chdir(folder)
    assert prepare([*PLATE_FILE, *PLATE_WALLS, *options]) == 0
    return {"file": str(folder / "plate.h5"), "spacing_m": None, "options": None, "periodic": None}


def test_a_prepared_geometry_has_the_nodes_of_its_solids(tmp_path, monkeypatch, capsys):
    geometry = prepared_plate(tmp_path, monkeypatch, "--solid", "plate")
    assert "solids      8 nodes: plate" in capsys.readouterr().out
    image, file = Solver(plate_case(tmp_path)), Solver(plate_case(tmp_path, geometry=geometry))
    image.step(100), file.step(100)
    assert np.array_equal(image.nodes.voxel, file.nodes.voxel) and image.nodes.walls == file.nodes.walls
    assert np.array_equal(temperature_k(image), temperature_k(file)) and np.ptp(temperature_k(file)) > 1.0


def test_solids_of_a_case_and_of_its_prepared_geometry_are_the_same(tmp_path, monkeypatch):
    with_none = prepared_plate(tmp_path, monkeypatch)
    with pytest.raises(
        InputError, match=r"walls.plate.conductivity_ratio .* without nodes in this wall; .* --solid plate"
    ):
        Solver(plate_case(tmp_path, geometry=with_none))
    with_one = prepared_plate(tmp_path, monkeypatch, "--solid", "plate")
    with pytest.raises(
        InputError, match=r"nodes in the wall 'plate', .* give \[thermal\] and walls.plate.conductivity_"
    ):
        Solver(plate_case(tmp_path, geometry=with_one, walls=[COLD, HOT]))


def test_an_unknown_solid_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    plate_case(tmp_path)
    assert prepare([*PLATE_FILE, *PLATE_WALLS, "--solid", "chip"]) == 2
    assert "no wall is named 'chip'; the walls are cold, hot, plate" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tables", "remedy"),
    [
        ({"thermal": {"method": "finite-differences"}}, "set thermal.method = 'double-distribution'"),
        ({"flow": {"acceleration_m_s2": [1e-3, 0.0, 0.0]}}, "drive the flow by its openings"),
    ],
)
def test_what_solids_cannot_do_is_said(tmp_path, tables, remedy):
    with pytest.raises(InputError, match=remedy):
        Solver(plate_case(tmp_path, **tables))


def test_populations_keep_a_uniform_temperature_whatever_the_flow():
    """Carried like mass, a temperature far from zero would be compressed and stretched with the fluid."""
    tables = changed(
        thermal={"reference_k": 293.0, "prandtl": 0.71, "expansion_1_k": 1e-3, "method": "double-distribution"},
        compute={"backend": "numpy"},
    )
    tables["openings"] = [{**opening, "temperature_k": 310.0} for opening in tables["openings"]]
    simulation = Solver(case_from_dict(tables))
    set_temperature_k(simulation, 310.0)
    simulation.step(40)
    assert np.abs(temperature_k(simulation) - 310.0).max() < 1e-9
    assert simulation.health().max_speed > 1e-3


@pytest.mark.parametrize("watched", [["mean_speed"], ["mean_speed", "heat"]])
def test_heat_that_enters_is_judged_where_it_is_watched(tmp_path, watched):
    """A run ended as soon as its flow was steady, and was sound, with a front of heat near the inlet."""
    tables = changed(
        thermal={"reference_k": 293.0, "prandtl": 0.71, "expansion_1_k": 0.0, "method": "double-distribution"},
        compute={"backend": "numpy"},
        run={"steps": 120, "ramp_steps": 0, "steady_tolerance": 0.1, "steady_interval_steps": 20}
        | {"steady_watch": watched},
    )
    tables["openings"] = [tables["openings"][0] | {"temperature_k": 310.0}, *tables["openings"][1:]]
    _, summary = Run(Solver(case_from_dict(tables)), tmp_path).execute()
    assert any("steadiness of the heat" in text for text in summary["not_judged"]) == ("heat" not in watched)


@pytest.mark.parametrize("key", [{"conductivity_ratio": 2.0}, {"temperature_k": 300.0}])
def test_what_is_said_of_heat_needs_a_thermal_flow(key):
    with pytest.raises(InputError, match=r"cold but no \[thermal\]"):
        cavity_case(walls=[{"name": "cold"} | key], thermal=None)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("streaming", ["pull", "push", "aa"])
def test_a_buoyant_flow_through_openings_goes_on_bit_for_bit(tmp_path, streaming, method):
    """Pressure openings of pull and aa read the temperature of the step before, too."""
    tables = changed(compute={"backend": "numpy", "streaming": streaming}, run={"steps": 30, "ramp_steps": 0})
    tables["openings"] = [tables["openings"][0] | {"temperature_k": 310.0}, *tables["openings"][1:]]
    tables["thermal"] = {
        "method": method,
        "reference_k": 300.0,
        "diffusivity_m2_s": 2e-5,
        "expansion_1_k": 3e-3,
        "gravity_m_s2": [0.0, 0.0, -9.81],
    }
    case = case_from_dict(tables)
    undisturbed, first, second = (Solver(case) for _ in range(3))
    start_k = 300.0 + 10.0 * np.random.default_rng(3).random(undisturbed.header.n_nodes)
    for simulation, n_steps in ((undisturbed, 30), (first, 13)):
        set_temperature_k(simulation, start_k)
        simulation.step(n_steps)
    path = checkpoint_path(tmp_path, 13)
    write_checkpoint(path, first, {})
    restore(tmp_path, second)
    second.step(17)
    assert np.array_equal(*(list(each.populations()) for each in (second, undisturbed)))
    assert np.array_equal(temperature_k(second), temperature_k(undisturbed)) and np.ptp(temperature_k(second)) > 1.0
