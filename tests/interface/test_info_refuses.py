"""``muphy-lb info`` refuses what ``muphy-lb run`` refuses, in the same words and with the same exit code; the changes
that a refusal tells help when they are typed."""

import re
from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from muphy_lb import Simulation
from muphy_lb.base.errors import MuphyError
from muphy_lb.case.case import case_from_dict
from muphy_lb.case.toml import toml_lines
from muphy_lb.engine.engine import Engine
from muphy_lb.parallel import SerialCommunicator
from tests.channel import OPEN, PERIODIC
from tests.channel import changed as changed_tables
from tests.vessel import TABLE, command

WATER = {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6}
NUMPY = {"compute": {"backend": "numpy"}, "run": {"steps": 4}, "output": {"picture": False, "vtk": False}}
FORCED = {"flow": {"acceleration_m_s2": [1e-3, 0.0, 0.0]}}
VESSEL = TABLE | NUMPY
TANK = {
    "geometry": {"shape": "tank", "spacing_m": 4e-3, "options": {"length": 8, "height": 6, "width": 4}},
    "fluid": {"density_kg_m3": 950.0, "kinematic_viscosity_m2_s": 2.5e-4},
    "flow": {"acceleration_m_s2": [0.0, -9.81, 0.0]},
    "free_surface": {"liquid": [{"box_m": [[-1.0, -1.0, -1.0], [0.015, 0.012, 1.0]]}]},
    "lattice": {"time_step_s": 2.8e-4},
} | NUMPY
BOX = {
    "geometry": {"shape": "tank", "spacing_m": 1e-9, "options": {"length": 6, "height": 6, "width": 6}},
    "fluid": WATER | {"temperature_k": 300.0},
    "lattice": {"time_step_s": 1e-13},
    "particles": [{"name": "p", "kind": "beads", "mass_kg": 5e-24, "radius_m": 2e-10, "count": 2}],
} | NUMPY
CAVITY = {
    "geometry": {"shape": "channel", "spacing_m": 1e-3, "options": {"length": 6, "height": 6, "width": 1}},
    "walls": [PERIODIC["walls"][0] | {"temperature_k": 300.0}, PERIODIC["walls"][1] | {"temperature_k": 310.0}],
    "fluid": WATER | {"kinematic_viscosity_m2_s": 1e-5},
    "lattice": {"name": "D2Q9", "time_step_s": 1e-2},
    "thermal": {"diffusivity_m2_s": 5e-6, "reference_k": 305.0, "expansion_1_k": 0.0},
} | NUMPY
CARREAU = {"zero_viscosity_m2_s": 1e-4, "infinite_viscosity_m2_s": 1e-6, "relaxation_time_s": 8.2, "index": 0.2}
CARREAU |= {"transition": 0.64}
HIGH = {"box_m": [[5.0, 5.0, 5.0], [6.0, 6.0, 6.0]]}
WAVE = {"period_s": 0.4, "mean": 1.0, "sine": [0.5]}


def bead(**keys):
    """The box with other keys of its beads; None removes one."""
    given = BOX["particles"][0] | keys
    return {"particles": [{key: value for key, value in given.items() if value is not None}]}


def tracer(**keys):
    """Tracers."""
    return {"particles": [{"name": "dye", "kind": "tracers"} | keys]}


def inlet(**keys):
    """The open channel with another condition at its inlet."""
    return {"openings": [{"name": "inlet"} | keys, OPEN["openings"][1]]}


def liquid(**keys):
    """The tank with other keys of its free surface."""
    return {"free_surface": TANK["free_surface"] | keys}


def plane(**keys):
    """The box with a plane that counts its beads."""
    given = {"name": "exit", "point_m": [2e-9, 2e-9, 2e-9], "normal": [1.0, 0.0, 0.0]}
    return bead(planes=[given | keys])


REFUSED = [
    # geometry, openings, walls
    (VESSEL, {"geometry": {"spacing_m": 1.0}}),
    (VESSEL, {"geometry": {"shape": "pipes"}}),
    (VESSEL, {"geometry": {"options": {"generations": -1}}}),
    (VESSEL, {"geometry": {"shape": None, "spacing_m": None, "options": None, "file": "absent.stl", "unit": "mm"}}),
    (VESSEL, {"openings": TABLE["openings"][:2]}),
    (VESSEL, {"openings": [*TABLE["openings"], {"name": "outlet_9", "pressure_pa": 0.0}]}),
    (VESSEL, {"openings": [TABLE["openings"][0] | {"kind": "outlet"}, *TABLE["openings"][1:]]}),
    (VESSEL, {"walls": [{"name": "lid", "box_m": [[5.0] * 3, [6.0] * 3]}]}),
    (VESSEL, {"walls": [{"name": "absent"}]}),
    (OPEN, {"lattice": {"name": "D3Q19"}, "walls": [PERIODIC["walls"][0] | {"slip": True, "velocity_m_s": [1, 0, 0]}]}),
    (PERIODIC, FORCED | {"geometry": {"options": {"length": 8, "height": 6, "width": 3}}}),
    (PERIODIC, {"flow": {"acceleration_m_s2": [0.0, 0.0, 1e-3]}}),
    # numbers of the run
    (OPEN, {"lattice": {"time_step_s": 10.0}}),
    (OPEN, {"lattice": {"time_step_s": None, "relaxation_time": 0.5}}),
    (OPEN, {"fluid": {"kinematic_viscosity_m2_s": 1.0}}),
    (OPEN, {"run": {"steps": None, "time_s": 1e12}}),
    (OPEN, inlet(velocity_m_s=0.2)),
    (OPEN, inlet(pressure_pa=1e5)),
    (OPEN, {"openings": [{"name": "inlet", "velocity_m_s": 2e-2}, {"name": "outlet", "velocity_m_s": 0.0}]}),
    (OPEN, inlet(velocity_m_s=2e-3, waveform=WAVE | {"period_s": 1e-2})),
    (OPEN, inlet(velocity_m_s=2e-3, waveform={"file": "absent.csv"})),
    (PERIODIC, {"lattice": {"time_step_s": None, "lattice_velocity": 0.05}}),
    # the collision
    (OPEN, {"fluid": {"carreau_yasuda": CARREAU}, "lattice": {"smagorinsky": 0.16}}),
    (OPEN, {"fluid": {"carreau_yasuda": CARREAU}, "lattice": {"collision": "cumulant", "equilibrium": "stokes"}}),
    (OPEN, {"lattice": {"collision": "cumulant", "equilibrium": "stokes"}}),
    (OPEN, {"lattice": {"walls": "bouzidi"}, "compute": {"streaming": "push"}}),
    (VESSEL, {"compute": {"rank_speeds": [1.0, 2.0]}}),
    # the start
    (PERIODIC, {"initial": {"velocity_m_s": [9.0, 0.0, 0.0]}}),
    (PERIODIC, {"initial": {"pressure_pa": 1e5}}),
    (PERIODIC, {"initial": {"velocity_file": "absent.npy"}}),
    (PERIODIC, {"initial": {"pressure_file": "values.npy"}}),
    (OPEN, {"initial": {"velocity_m_s": [1e-3, 0.0, 0.0], "consistent_pressure": True}}),
    (TANK, {"initial": {"velocity_m_s": [1e-3, 0.0, 0.0], "consistent_pressure": True}}),
    (PERIODIC, {"flow": {"acceleration_file": "absent.npy"}}),
    # outputs
    (VESSEL, {"probes": [{"name": "p", "point_m": [1.0, 1.0, 1.0]}]}),
    (VESSEL, {"output": {"wall_shear": True}, "wall_regions": [{"name": "sac", "box_m": [[1.0] * 3, [2.0] * 3]}]}),
    (VESSEL, {"output": {"permeability": True}}),
    (PERIODIC, {"output": {"permeability": True}}),
    (OPEN, {"run": {"periodic_tolerance": 0.01}}),
    (PERIODIC, {"flow": {"acceleration_m_s2": [1e-3, 0, 0], "waveform": WAVE}, "run": {"periodic_tolerance": 0.01}}),
    (BOX, {"particles": [], "run": {"steps": 4, "steady_tolerance": 1e-3, "steady_watch": ["flow_rates"]}}),
    # a free surface
    (TANK, liquid(gauges=[{"name": "w", "position_m": [1.0, 1.0, 1.0]}])),
    (TANK, liquid(liquid=[HIGH])),
    (TANK, liquid(liquid=[*TANK["free_surface"]["liquid"], HIGH])),
    (TANK, {"lattice": {"time_step_s": 5e-3}, "fluid": {"kinematic_viscosity_m2_s": 1e-3}}),
    (TANK, {"flow": {"acceleration_m_s2": [0.0, -1e4, 0.0]}}),
    (TANK, liquid(gas_pressure_pa=1e5)),
    (TANK, liquid(surface_tension_n_m=72.0)),
    (TANK, liquid(bubbles={"pressure_pa": 1e5, "atmosphere_m": [[5.0] * 3, [6.0] * 3]})),
    (TANK, liquid(liquid=[{"box_m": [[-1.0] * 3, [1.0] * 3]}], bubbles={"pressure_pa": 1e5})),
    (TANK, liquid(liquid=[{"spheres_file": "absent.csv"}])),
    (TANK, {"compute": {"backend": "numpy", "streaming": "push"}}),
    (TANK, {"compute": {"backend": "numpy", "precision": "fp16"}}),
    (TANK, {"lattice": {"time_step_s": 2.8e-4, "walls": "bouzidi"}}),
    (TANK, {"lattice": {"time_step_s": 2.8e-4, "equilibrium": "stokes"}}),
    (TANK, {"age": {"diffusivity_m2_s": 1e-6}}),
    # particles
    (BOX, bead(file="absent.csv", count=None)),
    (BOX, bead(file="beads.csv", count=None)),
    (BOX, bead(count=None, chains=1, beads_per_chain=2)),
    (BOX, bead(box_m=[[1.0] * 3, [2.0] * 3])),
    (BOX, bead(substeps=1, count=None, chains=1, beads_per_chain=2, bonds={"stiffness_n_m": 1e6})),
    (BOX, plane(point_m=[1.0, 1.0, 1.0])),
    (BOX, bead(pull={"ids": [7], "force_n": [1e-12, 0.0, 0.0]})),
    (BOX, {"compute": {"backend": "numpy", "streaming": "push"}}),
    (VESSEL, tracer(count=3, opening="absent")),
    (VESSEL, tracer(count=3, box_m=[[1.0] * 3, [2.0] * 3])),
    # heat, age, noise
    (CAVITY, {"initial": {"temperature_file": "absent.npy"}}),
    (CAVITY, {"thermal": {"diffusivity_m2_s": 1.0}}),
    (CAVITY, {"walls": [CAVITY["walls"][0] | {"conductivity_ratio": 2.0}, CAVITY["walls"][1]]}),
    (CAVITY, {"thermal": {"energy_coupling": 1.0}, "walls": PERIODIC["walls"]}),
    (CAVITY, {"flow": {"acceleration_file": "values.npy"}}),
    (PERIODIC, {"age": {"diffusivity_m2_s": 1e-6}}),
    (OPEN, {"age": {"diffusivity_m2_s": 1e-6}, "compute": {"precision": "fp16"}}),
    (PERIODIC, {"fluctuating": {}, "fluid": {"temperature_k": 300.0}, "lattice": {"smagorinsky": 0.16}}),
    (PERIODIC, {"fluctuating": {}}),
    (BOX, {"fluctuating": {}, "lattice": {"time_step_s": 1e-13, "walls": "bouzidi"}}),
]


def refusal(verb: str, tables: Mapping, folder) -> tuple[str, int]:
    """What a command says to a case that it refuses, and its exit code."""
    (folder / "case.toml").write_text(to_toml(tables), encoding="utf-8")
    words = [verb, folder / "case.toml"] if verb == "info" else [verb, folder / "case.toml", "-o", folder / "out"]
    with pytest.raises(MuphyError) as caught:
        command(*words)
    return str(caught.value), caught.value.exit_code


def to_toml(tables: Mapping) -> str:
    """The tables as the text of a file, unchecked."""
    return "\n".join(toml_lines(tables)) + "\n"


@pytest.mark.parametrize(("table", "change"), REFUSED, ids=[str(number) for number in range(len(REFUSED))])
def test_info_says_of_a_case_that_cannot_run_what_the_run_says(tmp_path, table, change):
    np.save(tmp_path / "values.npy", np.zeros((1, 2, 3)))
    (tmp_path / "beads.csv").write_text("x_m,y_m,z_m\n1.0,1.0,1.0\n")
    tables = changed_tables(table, **change)
    told = refusal("run", tables, tmp_path)
    assert refusal("info", tables, tmp_path) == told
    with pytest.raises(MuphyError) as caught:
        Simulation(tmp_path / "case.toml", communicator=SerialCommunicator())
    assert (str(caught.value), caught.value.exit_code) == told
    assert not (tmp_path / "out" / "summary.json").exists()
    assert_help(told_changes(told[0]), told[0], tmp_path / "case.toml")


VALUE = r"('[^']*'|-?[\d.]+(?:e[+-]?\d+)?)"
KEY = r"([a-z_]+(?:\.[a-z_]+)+)"


def told_changes(message: str) -> Iterator[str]:
    """Changes of a case that a refusal tells, each of which is to help by itself, as ``--set`` takes them."""
    message = message.rpartition("problem:\n  ")[2]
    about = re.match(rf"{KEY} (?:is|has|compares)", message)
    for key, value in re.findall(rf"(?:set|use|or) {KEY} = {VALUE}", message):
        yield f"{key}={value}"
    for choices in re.findall(r"allowed: ('[^']*'(?:, '[^']*')*)", message) if about else ():
        yield from (f"{about[1]}={choice}" for choice in re.findall(r"'[^']*'", choices))
    if both := re.search(r"has \[(\w+)\] and \[(\w+)\].*keep one", message):
        yield from (f"{name}=" for name in both.groups())
    yield from (f"{name}=" for name in re.findall(r"(?:remove|leave) \[(\w+)\]", message))
    yield from (f"{key}=" for key in re.findall(rf"leave {KEY} out", message))
    if about and "leave it out" in message:
        yield f"{about[1]}="


def assert_help(changes: Iterator[str], message: str, path) -> None:
    """With each of the changes the case is taken, or is refused for another reason."""
    for change in changes:
        try:
            command("info", path, "--set", change)
        except MuphyError as error:
            assert without_numbers(str(error)) != without_numbers(message), f"{message}\n--set {change}\n{error}"


def without_numbers(message: str) -> str:
    return re.sub(r"-?\d[\d.e+-]*", "#", message)


def test_changes_are_found_in_refusals():
    told = "compute.streaming is 'push' with beads; allowed: 'pull', 'aa'"
    assert list(told_changes(told)) == ["compute.streaming='pull'", "compute.streaming='aa'"]
    told = "the relaxation time is 0.5: set lattice.relaxation_time = 0.8 or leave [age] out"
    assert list(told_changes(told)) == ["lattice.relaxation_time=0.8", "age="]


@pytest.mark.parametrize("table", [VESSEL, OPEN, PERIODIC, TANK, BOX, CAVITY], ids=lambda table: str(table.keys()))
def test_the_unchanged_cases_are_taken(table, tmp_path):
    (tmp_path / "case.toml").write_text(case_from_dict(table).to_toml())
    assert command("info", tmp_path / "case.toml") == 0


def test_info_compiles_and_allocates_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Engine, "__init__", lambda *_: pytest.fail("an engine was built"))
    (tmp_path / "case.toml").write_text(case_from_dict(TANK).to_toml())
    assert command("info", tmp_path / "case.toml") == 0
    text = capsys.readouterr().out
    assert "not checked: the output folder, the device" in text and "memory of set-up" in text
