"""Permeability is that of known flows, and what does not allow one is refused."""

import json
import signal
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from muphy_lb.apps.rock.permeability import permeability, tensor_m2
from muphy_lb.apps.rock.settled_flow import Desk, settled_flow
from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.load import load_content
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.store import read_geometry, write_geometry
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Reservoirs, Voxels
from muphy_lb.measure.permeability import DARCY_M2, rock_of
from muphy_lb.measure.permeability_observer import permeability_lines
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.loop import Clock
from muphy_lb.run.stop_signals import StopSignals
from muphy_lb.validation.flows import duct_flow_rate
from tests.channel import open_channel, simulate

SIDE, SPACING_M = 16, 1e-5
DUCT = {
    "geometry": {"shape": "square_duct", "spacing_m": SPACING_M, "options": {"side": SIDE, "length": 1, "axis": "z"}},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
    "flow": {"acceleration_m_s2": [0.0, 0.0, 1.0]},
    "lattice": {"relaxation_time": 1.0, "collision": "trt", "equilibrium": "stokes"},
    "compute": {"backend": "numpy", "precision": "fp64"},
    "run": {"steps": 4000, "ramp_steps": 0},
}


@pytest.fixture(scope="module")
def duct():
    """The settled flow of a square duct."""
    return settled_flow(case_from_dict(DUCT), SerialCommunicator())


def slanted_bars() -> Voxels:
    """A periodic sheet with a bar that leans, of which copies form slanted channels."""
    y, x = np.mgrid[:16, :16]
    solid = (np.abs((x + y + 0.5) % 16 - 8) < 2.5) & (x < 11)
    return Voxels(np.where(solid, SOLID, FLUID).astype(FLAG_DTYPE)[None], SPACING_M, periodic=(True, True, True))


def sheet_flow(direction):
    """The settled flow through the bars, driven along a direction."""
    table = DUCT | {
        "geometry": {"shape": "channel", "spacing_m": SPACING_M},
        "flow": {"acceleration_m_s2": list(direction)},
        "lattice": DUCT["lattice"] | {"name": "D2Q9"},
    }
    return settled_flow(case_from_dict(table), SerialCommunicator(), build_nodes(slanted_bars()))


def test_a_square_duct_has_the_permeability_of_its_series(duct):
    exact = duct_flow_rate(SIDE, SIDE) / (SIDE + 2) ** 2
    assert duct.settled
    assert duct.permeability.permeability_voxel2 == pytest.approx(exact, rel=0.01)
    assert duct.permeability.permeability_m2 == pytest.approx(exact * SPACING_M**2, rel=0.01)
    assert duct.permeability.permeability_darcy * DARCY_M2 == pytest.approx(duct.permeability.permeability_m2)
    assert duct.limit_m2 == pytest.approx(duct.permeability.permeability_m2, rel=1e-3)


def test_a_straight_duct_has_tortuosity_one_and_its_hydraulic_diameter(duct):
    assert duct.permeability.tortuosity == pytest.approx(1.0)
    assert duct.permeability.pore_size_voxels == pytest.approx(SIDE)
    assert duct.permeability.porosity == pytest.approx(SIDE**2 / (SIDE + 2) ** 2)


def test_the_reynolds_number_takes_mean_pore_velocity_and_size(duct):
    found = duct.permeability
    speed_m_s = found.darcy_velocity_m_s[2] / found.porosity
    assert found.reynolds == pytest.approx(speed_m_s * found.pore_size_m / 1e-6)


def test_the_distribution_of_velocities_integrates_to_its_share(duct):
    spread = duct.permeability.distribution
    over_mean, density = (np.array(spread[key]) for key in ("velocity_over_mean", "probability_density"))
    assert (density * np.diff(over_mean)[0]).sum() == pytest.approx(0.99, abs=0.015)


def test_the_tensor_is_symmetric_and_predicts_a_flow_between_its_axes():
    tensor = tensor_m2([sheet_flow((1.0, 0.0, 0.0)), sheet_flow((0.0, 1.0, 0.0))])
    assert abs(tensor[0, 1]) > 0.02 * tensor[0, 0]
    assert tensor[0, 1] == pytest.approx(tensor[1, 0], rel=1e-2)
    between = sheet_flow((0.6, 0.8, 0.0)).permeability
    np.testing.assert_allclose(between.column_m2[:2], tensor @ (0.6, 0.8), rtol=1e-3)


def test_a_fracture_beside_narrow_pores_has_come_to_speed():
    """Whose width is six times that of the mean pore: k was settled, and 1.5e-3 off."""
    flags = np.full((1, 72, 2), SOLID, FLAG_DTYPE)
    flags[0, :36] = np.where(np.arange(36) % 4 < 3, FLUID, SOLID)[:, None]
    flags[0, 36:] = FLUID
    along_x = {"flow": {"acceleration_m_s2": [1.0, 0.0, 0.0]}, "lattice": DUCT["lattice"] | {"name": "D2Q9"}}
    table = DUCT | along_x | {"geometry": {"shape": "channel", "spacing_m": SPACING_M}, "run": {"steps": 20000}}
    nodes = build_nodes(Voxels(flags, spacing_m=SPACING_M, periodic=(True, True, True)))
    found = settled_flow(case_from_dict(table), SerialCommunicator(), nodes)
    assert found.settled
    assert found.permeability.permeability_m2 == pytest.approx(found.limit_m2, rel=5e-4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"flow": {"acceleration_m_s2": [1.0, 0.0, 0.0]}}, "closed"),
        ({"flow": {}}, "no force"),
    ],
)
def test_what_has_no_permeability_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        settled_flow(case_from_dict(DUCT | change), SerialCommunicator())


def test_openings_are_refused():
    from muphy_lb.measure.permeability import measured_permeability

    with pytest.raises(InputError, match="openings"):
        measured_permeability(simulate(open_channel()))


@pytest.mark.parametrize(("step", "is_told"), [(8, True), (7, False)])
def test_flow_that_passes_edges_alone_is_told(step, is_told):
    """Squares that touch at corners, as a chessboard has them, have no throat; squares that overlap by one voxel do."""
    y, x = np.mgrid[:16, :16]
    fluid = ((x < 8) & (y < 8)) | ((x >= step) & (y >= 8)) | ((step < 8) & (x < 1) & (y >= 8))
    table = DUCT | {
        "geometry": {"shape": "channel", "spacing_m": SPACING_M},
        "flow": {"acceleration_m_s2": [1.0, 0.0, 0.0]},
        "lattice": DUCT["lattice"] | {"name": "D2Q9"},
    }
    flags = np.where(fluid, FLUID, SOLID).astype(FLAG_DTYPE)[None]
    nodes = build_nodes(Voxels(flags, SPACING_M, periodic=(True, True, True)))
    found = settled_flow(case_from_dict(table), SerialCommunicator(), nodes).permeability
    assert found.permeability_voxel2 > 0.01
    assert any("touch at an edge" in text for text in found.warnings) == is_told


def test_a_rock_that_nothing_leads_through_is_told():
    """Its end layers are open, so that nothing else told why the flow did not settle."""
    flags = np.full((1, 8, 12), FLUID, dtype=FLAG_DTYPE)
    flags[:, 0], flags[:, :, 5] = SOLID, SOLID
    table = DUCT | {
        "geometry": {"shape": "channel", "spacing_m": SPACING_M},
        "flow": {"acceleration_m_s2": [1.0, 0.0, 0.0]},
        "lattice": DUCT["lattice"] | {"name": "D2Q9"},
        "run": {"steps": 100},
    }
    nodes = build_nodes(Voxels(flags, SPACING_M, periodic=(True, True, True)))
    found = settled_flow(case_from_dict(table), SerialCommunicator(), nodes).permeability
    assert any("no pore leads from end to end" in text for text in found.warnings)


@pytest.mark.parametrize(("along", "k_voxel2"), [("x", 8 / (6 / 0.01 + 2 / 0.001)), ("y", 0.0075961512)])
def test_layers_of_porous_media_without_a_solid_have_no_throats_and_their_mean_permeability(along, k_voxel2):
    """Along x Darcy's harmonic mean; along y the arithmetic one, less (K1 - K2) (sqrt(K1) - sqrt(K2)) an interface."""
    box_m = [[2.5 * SPACING_M, -1.0, -1.0], [4.5 * SPACING_M, 1.0, 1.0]]
    media = [{"name": "a", "permeability_m2": 0.01 * SPACING_M**2}]
    media += [{"name": "b", "permeability_m2": 0.001 * SPACING_M**2, "box_m": box_m}]
    force = {"acceleration_m_s2": [float(along == axis) for axis in "xyz"]}
    table = DUCT | {"geometry": {"shape": "channel", "spacing_m": SPACING_M}, "flow": force, "porous_medium": media}
    table["lattice"] = DUCT["lattice"] | {"name": "D2Q9"}
    open_box = Voxels(np.full((1, 4, 8), FLUID, FLAG_DTYPE), SPACING_M, periodic=(True, True, True))
    found = settled_flow(case_from_dict(table), SerialCommunicator(), build_nodes(open_box)).permeability
    assert found.permeability_voxel2 == pytest.approx(k_voxel2, rel=1e-5)
    (line,) = permeability_lines(found.record())
    assert line.startswith(f"permeability along {along}") and found.throats is None and not found.warnings


@pytest.mark.parametrize(("edge_m", "is_told"), [(15.2, True), (15.2e-6, False), (1.0, False)])
def test_an_edge_in_metres_in_place_of_micrometres_is_told(edge_m, is_told):
    """An image at 50 m a voxel had a permeability of 8595 m2."""
    force = {"acceleration_m_s2": [0.0, 0.0, 1e-4 * 1e-12 / edge_m**3]}
    table = DUCT | {"geometry": DUCT["geometry"] | {"spacing_m": edge_m}, "flow": force, "run": {"steps": 20}}
    found = settled_flow(case_from_dict(table), SerialCommunicator()).permeability
    assert any(f"spacing_m = {edge_m:g}, which is in metres" in text for text in found.warnings) == is_told


def test_inertia_is_warned_of():
    lattice = {"relaxation_time": 0.8, "collision": "trt"}
    strong = DUCT | {"lattice": lattice, "flow": {"acceleration_m_s2": [0.0, 0.0, 20.0]}, "run": {"steps": 1500}}
    found = settled_flow(case_from_dict(strong), SerialCommunicator()).permeability
    assert found.reynolds > 1.0 and any("Reynolds" in text for text in found.warnings)


def command(tmp_path, case=None, **options):
    """Exit code of the command, on the duct by default, what it said, and what it wrote."""
    said, path = [], tmp_path / "case.toml"
    path.write_text((case or case_from_dict(DUCT)).to_toml())
    given = {"case": path, "set": [], "axis": None, "tensor": False, "json": tmp_path / "k.json", "plot": None}
    given |= {"output": tmp_path / "out", "overwrite": False, "time_step": "short", "refine": None, "memory": None}
    given |= {"profile": True}
    code = permeability(SimpleNamespace(**given | options), said.append, SerialCommunicator())
    return code, "\n".join(said), json.loads((tmp_path / "k.json").read_text())


def test_the_command_tells_and_writes_the_permeability(tmp_path):
    code, said, record = command(tmp_path, axis="z", plot=tmp_path / "k.png")
    assert code == 0 and "darcy" in said and "settled after" in said and "stepping [s]" in said
    assert record["flows"]["z"]["permeability_darcy"] > 0.0
    assert (tmp_path / "k.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_tells_that_a_flow_did_not_settle(tmp_path):
    code, said, record = command(tmp_path, axis="z", set=["run.steps=20"])
    assert code == 1 and "NOT settled" in said and not record["flows"]["z"]["settled"]


def test_the_tensor_of_a_closed_box_is_refused(tmp_path):
    with pytest.raises(InputError, match="closed"):
        command(tmp_path, tensor=True)
    assert not list((tmp_path / "out").rglob("*.*"))  # before the first flow


SHORT = DUCT | {"run": {"steps": 120, "ramp_steps": 0, "steady_interval_steps": 20}}


def flow_in(folder, signal_number=0, **change):
    """The short flow of the duct in a folder, stopped at the first check if a signal has come, and what was said."""
    signals, said = StopSignals(), []
    signals.received = signal_number
    desk = Desk(said.append, signals, Clock())
    return settled_flow(case_from_dict(SHORT | change), SerialCommunicator(), folder=folder, desk=desk), said


def test_a_stopped_flow_tells_what_it_has_and_goes_on_to_the_same_numbers(tmp_path):
    stopped, said = flow_in(tmp_path / "a", signal.SIGINT)
    assert stopped.is_stopped and stopped.steps == 50 and stopped.permeability.permeability_m2 > 0.0
    assert "relaxation time" in said[0]
    resumed, whole = flow_in(tmp_path / "a")[0], flow_in(tmp_path / "b")[0]
    assert resumed.record() == whole.record() and resumed.steps == 120 and not resumed.is_stopped


def test_a_flow_that_has_ended_is_not_run_again(tmp_path):
    first, again = flow_in(tmp_path)[0], flow_in(tmp_path)
    assert json.dumps(again[0].record()) == json.dumps(first.record())
    assert len(again[1]) == 1 and "not run again" in again[1][0]


def test_checkpoints_of_another_flow_are_not_gone_on_with(tmp_path):
    flow_in(tmp_path, signal.SIGINT)
    with pytest.raises(InputError, match="differs in fluid; give --overwrite"):
        flow_in(tmp_path, fluid={"density_kg_m3": 900.0, "kinematic_viscosity_m2_s": 1e-6})


def test_the_flow_of_a_changed_image_is_another_flow(tmp_path):
    given = {"file": str(tmp_path / "image.npy"), "options": {"fluid_value": 1}}
    change = {
        "geometry": given | {"spacing_m": 1e-4, "periodic": ["x", "z"]},
        "flow": {"pressure_drop_pa": [0, 0, 1e-6]},
    }
    image = np.ones((4, 8, 8), dtype=np.uint8)
    image[:, 0] = 0
    np.save(tmp_path / "image.npy", image)
    flow_in(tmp_path / "flow", **change)
    assert "not run again" in flow_in(tmp_path / "flow", **change)[1][0]
    np.save(tmp_path / "image.npy", np.roll(image, 1, axis=1))
    with pytest.raises(InputError, match=r"differs in the contents of geometry\.file; give --overwrite"):
        flow_in(tmp_path / "flow", **change)


def test_another_time_step_is_another_flow_only_where_k_depends_on_it(tmp_path):
    lattice = DUCT["lattice"] | {"relaxation_time": 0.8}
    flow_in(tmp_path / "half-way")
    assert "not run again" in flow_in(tmp_path / "half-way", lattice=lattice)[1][0]
    flow_in(tmp_path / "cut", lattice=DUCT["lattice"] | {"walls": "bouzidi"})
    with pytest.raises(InputError, match="differs in lattice; give --overwrite"):
        flow_in(tmp_path / "cut", lattice=lattice | {"walls": "bouzidi"})


@pytest.mark.parametrize("ends", ["inlet", "open", "periodic"])
def test_a_prepared_rock_is_its_image_without_reservoirs(tmp_path, ends):
    """Porosity and k of a prepared geometry counted its reservoirs as rock."""
    image = np.zeros((1, 8, 6), np.uint8)
    image[:, 1:7] = 1
    voxels = load_content(image, spacing_m=SPACING_M, fluid_value=1, reservoir_layers=3, reservoir_ends=ends).voxels
    write_geometry(tmp_path / "rock.h5", build_nodes(voxels))
    rock = rock_of(read_geometry(tmp_path / "rock.h5").header)
    assert rock == rock_of(build_nodes(voxels).header) and rock.extent == image.shape[::-1]


@pytest.mark.parametrize(("name", "value"), [("layers", 40), ("axis", "w"), ("ends", "closed")])
def test_reservoirs_that_leave_no_rock_are_refused(tmp_path, name, value):
    voxels = load_content(np.ones((1, 8, 6), np.uint8), spacing_m=SPACING_M, fluid_value=1, reservoir_layers=3).voxels
    write_geometry(
        tmp_path / "rock.h5",
        replace(build_nodes(voxels), reservoirs=Reservoirs(3, "x", "open")._replace(**{name: value})),
    )
    with pytest.raises(GeometryError, match=f"reservoir_{name} is"):
        read_geometry(tmp_path / "rock.h5")


def test_an_image_mirrored_along_one_axis_is_mirrored_along_each_in_turn(tmp_path):
    solid = np.zeros((9, 9, 9), np.uint8)
    solid[2:5, 3:7, 2:6] = 1
    np.save(tmp_path / "rock.npy", 1 - solid)
    geometry = {"file": "rock.npy", "spacing_m": SPACING_M, "options": {"mirror": "x", "drop_unconnected": "x"}}
    rock = SHORT | {"geometry": geometry, "flow": {"acceleration_m_s2": [1.0, 0.0, 0.0]}}
    code, said, record = command(tmp_path, case_from_dict(rock), tensor=True, set=["run.steps=30"])
    assert code == 1 and "mirrored along each in turn" in said
    assert all(record["flows"][axis]["permeability_m2"] > 0.0 for axis in "xyz")
    assert np.count_nonzero(np.abs(record["tensor_m2"]) > 1e-6 * np.max(record["tensor_m2"])) == 3
