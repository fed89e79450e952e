"""What a simulation answers: records with units, fields on the box, data of PyVista, figures."""

import json
import re
import sys

import numpy as np
import pytest

from muphy_lb import InputError, Simulation
from muphy_lb.run import exports
from tests.channel import DENSITY_KG_M3, HEIGHT, OPEN, PERIODIC, SPACING_M, changed, periodic_channel

FORCE = {"acceleration_m_s2": [1e-3, 0.0, 0.0]}
SOLID = {
    "geometry": {"shape": "square_duct", "spacing_m": 1e-3, "options": {"length": 3, "side": 4}},
    "walls": [],
    "lattice": {"name": "D3Q19", "time_step_s": 1e-2},
}


@pytest.fixture(scope="module")
def channel():
    with Simulation(changed(OPEN, run={"steps": 400})) as simulation:
        simulation.run()
        yield simulation


@pytest.fixture(scope="module")
def duct():
    with Simulation(changed(PERIODIC, flow=FORCE, **SOLID)) as simulation:
        simulation.step(50)
        yield simulation


def test_openings_tell_flow_rate_and_velocity(channel):
    inlet = channel.openings["inlet"]
    assert inlet.mean_velocity_m_s == pytest.approx(2e-3, rel=1e-9)
    assert inlet.area_m2 == pytest.approx(HEIGHT * SPACING_M**2)


def test_an_unknown_opening_is_told_those_that_are_there(channel):
    with pytest.raises(KeyError, match="there are: inlet, outlet"):
        channel.openings["outflow"]


def test_records_are_shown_with_units(channel):
    assert "flow rate 1.2e-08 m3/s" in repr(channel.openings["inlet"])
    assert "<th>flow rate [m3/s]</th>" in channel.openings._repr_html_()
    assert "torque [N m]" in repr(channel.forces) and "N m" in repr(channel.forces["top"])
    assert "max velocity" in channel.health._repr_html_()


def test_records_do_not_change(channel):
    with pytest.raises(AttributeError):
        channel.openings["inlet"].area_m2 = 1.0


def test_walls_pull_with_the_force_that_drives_a_steady_flow():
    table = changed(PERIODIC, flow=FORCE, run={"steps": 4000, "steady_watch": ["forces"]})
    with Simulation(table) as simulation:
        simulation.run_until_steady(1e-5)
        pulled = sum(force.force_n[0] for force in simulation.forces.values())
        assert pulled == pytest.approx(DENSITY_KG_M3 * 1e-3 * simulation.n_nodes * SPACING_M**3, rel=1e-3)


def test_a_flow_without_openings_has_none(duct):
    assert len(duct.openings) == 0 and repr(duct.openings) == "none"


def test_fields_are_nan_in_solids_and_have_coordinates_and_units(duct):
    pytest.importorskip("xarray")
    found = duct.fields("velocity", "speed")
    assert found.velocity.dims == ("z", "y", "x", "component") and found.speed.dims == ("z", "y", "x")
    assert found.velocity.attrs["units"] == "m/s" and found.x.attrs["units"] == "m"
    assert int(np.isfinite(found.speed).sum()) == duct.n_nodes
    positions = duct.nodes.positions_m()
    place = {axis: positions[7, k] for k, axis in enumerate("xyz")}
    assert found.velocity.sel(place, method="nearest").values == pytest.approx(duct.velocity_m_s()[7])
    pytest.importorskip("xarray")
    assert list(duct.fields("pressure")) == ["pressure"]
    assert list(duct.fields()) == ["density", "velocity", "pressure"]


def test_a_plane_flow_has_fields_in_two_dimensions(channel):
    pytest.importorskip("xarray")
    assert channel.fields("pressure").pressure.dims == ("y", "x")


def test_an_array_holds_a_field_on_the_box(duct):
    speed = duct.array("speed")
    assert speed.shape == duct.nodes.shape
    assert np.nanmax(speed) == pytest.approx(duct.health.max_velocity_m_s)


@pytest.mark.parametrize("ask", [lambda sim: sim.fields("presure"), lambda sim: sim.array("presure")])
def test_an_unknown_field_is_told_the_nearest(duct, ask):
    with pytest.raises(InputError, match="no field 'presure' in this flow; did you mean 'pressure'"):
        ask(duct)


@pytest.mark.parametrize(
    ("name", "ask"), [("xarray", lambda sim: sim.fields()), ("pyvista", lambda sim: sim.to_pyvista())]
)
def test_a_missing_library_is_named_with_its_extra(duct, monkeypatch, name, ask):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=rf"needs the package {name}.*muphy_lb\[{exports.EXTRA}\]"):
        ask(duct)


def test_voxels_go_to_pyvista(duct):
    pytest.importorskip("pyvista")
    grid = duct.to_pyvista("velocity")
    assert grid.n_cells == duct.n_nodes
    assert grid.cell_centers().points == pytest.approx(duct.nodes.positions_m(), abs=1e-9)
    assert grid.cell_data["velocity"] == pytest.approx(duct.velocity_m_s())
    assert grid.compute_cell_sizes()["Volume"].sum() == pytest.approx(duct.n_nodes * SPACING_M**3, rel=1e-4)


def test_walls_go_to_pyvista_with_their_shear_stress(duct):
    pytest.importorskip("pyvista")
    wall, shear = duct.wall_to_pyvista(), duct.wall_shear()
    assert wall.n_points == shear.n_nodes
    assert wall.active_scalars_name == "wall_shear_magnitude"
    assert wall.point_data["wall_shear_magnitude"].max() == pytest.approx(shear.magnitude_pa.max())


def test_the_wall_shear_stress_of_a_plane_flow_is_that_of_the_force():
    table = changed(PERIODIC, flow=FORCE, walls=[], lattice={"collision": "trt"}, run={"steady_watch": ["mean_speed"]})
    with Simulation(table) as simulation:
        simulation.run_until_steady(1e-6, steps=8000)
        shear = simulation.wall_shear()
        assert shear.mean_pa == pytest.approx(DENSITY_KG_M3 * 1e-3 * HEIGHT * SPACING_M / 2.0, rel=1e-3)
        assert shear.max_pa == pytest.approx(shear.mean_pa) and "half-way" in repr(shear)


def test_the_wall_shear_stress_of_a_pipe_is_that_of_the_summary(tmp_path):
    """Weighted by the area of the wall, which differs from node to node."""
    pipe = {"geometry": {"shape": "pipe", "spacing_m": 1e-3, "options": {"length": 3, "radius": 3.3}}}
    output = {"wall_shear": True, "picture": False, "vtk": False, "report": False}
    with Simulation(changed(PERIODIC, flow=FORCE, **(SOLID | pipe), output=output)) as simulation:
        simulation.run(steps=20, folder=tmp_path / "out")
        shear = simulation.wall_shear()
    found = json.loads((tmp_path / "out" / "summary.json").read_text())["wall_shear"]["magnitude_pa"]
    assert (shear.mean_pa, shear.median_pa, shear.max_pa) == (found["mean"], found["p50"], found["max"])
    assert shear.mean_pa != np.mean(shear.magnitude_pa[shear.counted])


def test_figures_can_be_edited_and_saved(channel, duct, tmp_path):
    for number, figure in enumerate((channel.plot(style="light"), duct.plot.slice("pressure", axis="x"))):
        figure.axes[0].set_title("mine")
        figure.savefig(tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 1000
    assert duct.plot.slice("velocity", component="x")._repr_png_().startswith(b"\x89PNG")


def test_a_slice_has_the_limits_that_are_asked_for(duct):
    figure = duct.plot.slice("speed", axis="z", limits=(0.0, 2.5))
    assert figure.axes[0].images[-1].norm.vmax == 2.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"field": "vorticity"}, "no field"),
        ({"axis": "w"}, "allowed: 'x', 'y' or 'z'"),
        ({"position_m": 0.0}, "give the axis"),
        ({"axis": "x", "position_m": 1.0}, "fluid reaches from"),
        ({"field": "pressure", "component": "x"}, "has no components"),
        ({"style": "pink"}, "allowed: dark, light"),
        ({"axis": "xy"}, "allowed: 'x', 'y' or 'z'"),
        ({"axis": "x", "position_m": "middle"}, "position_m is 'middle'; give a number"),
        ({"limits": (1.0, 0.0)}, "the lower one first"),
        ({"limits": (0.0, float("nan"))}, "limits is"),
        ({"limits": 3.0}, "limits is 3.0"),
    ],
)
def test_a_slice_that_cannot_be_drawn_is_refused(duct, options, words):
    with pytest.raises(InputError, match=words):
        duct.plot.slice(**options)


SLOT = {
    "geometry": {"options": {"length": 4, "height": 16, "width": 1}},
    "walls": [],
    "fluid": {"kinematic_viscosity_m2_s": 3.33e-6},
    "flow": {"acceleration_m_s2": [1e-3, 0.0, 0.0]},
    "run": {"check_interval_steps": 50},
}


def test_a_permeability_says_by_how_much_it_may_still_change():
    with Simulation(periodic_channel(**SLOT)) as sim:
        assert sim.permeability().warnings[-1].startswith("not judged: whether the flow is steady")
        sim.run(steps=2000)
        early = sim.permeability()
        sim.run(steps=6000)
        settled = sim.permeability()
    told = float(re.search(r"k may still change by (.*) %", early.warnings[-1]).group(1))
    assert told == pytest.approx(100.0 * (settled.permeability_m2 / early.permeability_m2 - 1.0), rel=0.1)
    assert not any("steady" in text for text in settled.warnings)


def test_an_unwatched_run_is_neither_sound_nor_doubtful():
    with Simulation(periodic_channel(**SLOT)) as sim:
        outcome = sim.run(steps=10)
    assert outcome.verdict == "not judged" and not outcome.is_sound and outcome.objections == ()
    assert "run.steady_tolerance = 1e-4" in outcome.not_judged[0] and "verdict not judged" in repr(outcome)
