"""What is measured on walls, at probes, of heat and in rocks is the same on any number of ranks, bit for bit."""

import json

import h5py
import numpy as np
import pytest

from muphy_lb.case.case import load_case
from muphy_lb.measure.shear.observer import UNITS
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.vessel import ENDED, command, write_case

pytestmark = pytest.mark.mpi
RANKS = 2
PROBES = [
    {"name": "cut", "plane_m": [0.0, 0.0, 5e-3], "normal": [0.1, 0.0, 1.0]},
    {"name": "higher", "plane_m": [0.0, 0.0, 7e-3], "normal": [0.0, 0.0, 1.0], "branch": "nearest"},
    {"name": "point", "point_m": [1e-4, 3e-4, 6.2e-3], "fields": ["shear_stress", "strain_rate"]},
]
WAVE = {"period_s": 0.04, "mean": 1.0, "sine": [0.4]}
ROCK = {
    "geometry": {
        "shape": "sphere_pack",
        "spacing_m": 1e-5,
        "options": {"size": 16, "radius": 4.0, "porosity": 0.6},
    },
    "openings": [],
    "flow": {"acceleration_m_s2": [2.0, 1.0, 0.5]},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
    "lattice": {"lattice_velocity": None, "relaxation_time": 0.9},
    "compute": {"backend": "numpy"},
    "output": {"permeability": True},
    "run": {"steps": 30},
}
CAVITY = {
    "geometry": {"shape": "heated_cavity", "spacing_m": 1e-3, "options": {"size": 7}},
    "openings": [],
    "walls": [{"name": "cold", "temperature_k": 290.0}, {"name": "hot", "temperature_k": 300.0}],
    "thermal": {"reference_k": 295.0, "prandtl": 0.71, "rayleigh": 1e4, "length_m": 7e-3},
    "probes": [
        {"name": "point", "point_m": [3.2e-3, 3.4e-3, 4.1e-3]},
        {"name": "cut", "plane_m": [3.4e-3, 0.0, 0.0], "normal": [1.0, 0.0, 0.2]},
    ],
    "fluid": {"density_kg_m3": 1.2, "kinematic_viscosity_m2_s": 1.5e-5},
    "lattice": {"lattice_velocity": None, "relaxation_time": 0.55, "collision": "mrt"},
    "compute": {"backend": "numpy"},
    "output": {"series_every_steps": 10},
    "run": {"steps": 30},
}


def run_shared(communicator, paths) -> None:
    """Run cases into the folders ``shared`` beside them."""
    for path in paths:
        Run(Solver(load_case(path), communicator), path.parent / "shared").execute()


def pulsating(streaming):
    """Sections of a pulsating vessel."""
    inlet = {"name": "inlet", "velocity_m_s": 0.02, "waveform": WAVE}
    outlets = [{"name": f"outlet_{k}", "pressure_pa": 0.0} for k in (1, 2)]
    return {
        "openings": [inlet, *outlets],
        "probes": PROBES,
        "age": {},
        "dissipation": {},
        "segments": [{"name": "stretch", "proximal": "cut", "distal": "higher"}],
        "wall_regions": [{"name": "middle", "axis_m": [[0.0, 0.0, 3e-3], [0.0, 0.0, 7e-3]], "radius_m": 6e-3}],
        "lattice": {"walls": "bouzidi" if streaming == "pull" else "half-way"},
        "compute": {"streaming": streaming, "backend": "numpy"},
        "output": {"wall_shear": True, "vtk": True, "fields": ["stress", "shear_rate"]},
        "run": {"steps": 30, "ramp_steps": 10},
    }


def run_all(on_ranks, tmp_path_factory, **cases):
    """Output folders of cases, given by their sections, on one rank and on two: (alone, shared) by name."""
    homes = {name: tmp_path_factory.mktemp(name) for name in cases}
    paths = [write_case(homes[name], **sections) for name, sections in cases.items()]
    for path in paths:
        assert command("run", path, "-o", path.parent / "alone") in ENDED
    on_ranks(RANKS, run_shared, paths)
    return {name: (home / "alone", home / "shared") for name, home in homes.items()}


@pytest.fixture(scope="module")
def flows(tmp_path_factory, on_ranks):
    return run_all(on_ranks, tmp_path_factory, pull=pulsating("pull"), rock=ROCK, cavity=CAVITY)


@pytest.fixture(scope="module", params=["pull", pytest.param("aa", marks=pytest.mark.night)])
def folders(request, tmp_path_factory, on_ranks):
    """Output folders of a pulsating vessel on one and on two ranks."""
    if request.param == "pull":
        return request.getfixturevalue("flows")["pull"]
    return run_all(on_ranks, tmp_path_factory, aa=pulsating("aa"))["aa"]


def test_wall_shear_does_not_depend_on_the_ranks(folders):
    one, two = (h5py.File(folder / "wall_shear.vtkhdf")["VTKHDF/CellData"] for folder in folders)
    assert set(one) == set(UNITS)
    assert np.abs(one["wall_shear_stress"][...]).max() > 0.0
    for name in one:
        np.testing.assert_array_equal(one[name][...], two[name][...])
    assert len({json.dumps(json.loads((folder / "summary.json").read_text())["wall_shear"]) for folder in folders}) == 1


def test_fields_of_the_stress_do_not_depend_on_the_ranks(folders):
    one, two = (h5py.File(folder / "fields.vtkhdf")["VTKHDF/CellData"] for folder in folders)
    for name in ("stress", "shear_rate"):
        assert np.abs(one[name][...]).max() > 0.0
        np.testing.assert_array_equal(one[name][...], two[name][...])


@pytest.mark.parametrize("name", ["age", "dissipation", "segments"])
def test_series_of_the_vessel_do_not_depend_on_the_ranks(folders, name):
    one, two = ((folder / f"{name}.csv").read_text() for folder in folders)
    assert one == two and len(one.splitlines()) > 3
    assert len({json.dumps(json.loads((folder / "summary.json").read_text())[name]) for folder in folders}) == 1


@pytest.mark.parametrize("name", ["cut", "point", "higher"])
def test_probes_do_not_depend_on_the_ranks(folders, name):
    one, two = ((folder / f"probe_{name}.csv").read_text() for folder in folders)
    assert one == two and len(one.splitlines()) > 3


def test_permeability_does_not_depend_on_the_ranks(flows):
    one, two = (json.loads((folder / "summary.json").read_text())["permeability"] for folder in flows["rock"])
    assert one == two and one["permeability_m2"] > 0.0


def test_heat_and_probes_of_a_thermal_flow_do_not_depend_on_the_ranks(flows):
    names = ("heat", "probe_point", "probe_cut")
    one, two = ([(folder / f"{name}.csv").read_text() for name in names] for folder in flows["cavity"])
    assert one == two and "middle_nusselt" in one[0]
    assert all("temperature_k" in text for text in one[1:])
