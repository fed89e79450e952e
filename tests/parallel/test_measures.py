"""What is measured on walls, at probes and in rocks is the same on any number of ranks, bit for bit."""

import json

import h5py
import numpy as np
import pytest

from tests.vessel import write_case

pytestmark = pytest.mark.mpi
PROBES = [
    {"name": "cut", "plane_m": [0.0, 0.0, 5e-3], "normal": [0.1, 0.0, 1.0]},
    {"name": "point", "point_m": [1e-4, 3e-4, 6.2e-3]},
]
WAVE = {"period_s": 0.2, "mean": 1.0, "sine": [0.4]}


@pytest.fixture(scope="module", params=["pull", pytest.param("aa", marks=pytest.mark.slow)])
def folders(request, tmp_path_factory, mpirun):
    """Output folders of a pulsating vessel on one and on three ranks."""
    home = tmp_path_factory.mktemp(request.param)
    inlet = {"name": "inlet", "velocity_m_s": 0.02, "waveform": WAVE}
    outlets = [{"name": f"outlet_{k}", "pressure_pa": 0.0} for k in (1, 2)]
    walls = "bouzidi" if request.param == "pull" else "half-way"
    case = write_case(
        home,
        openings=[inlet, *outlets],
        probes=PROBES,
        lattice={"walls": walls},
        compute={"streaming": request.param, "backend": "numpy"},
        output={"wall_shear": True},
    )
    for n in (1, 3):
        done = mpirun(n, ["-m", "muphy_lb", "run", case, "-o", home / str(n)])
        assert done.returncode == 0, done.stderr
    return home / "1", home / "3"


def test_wall_shear_does_not_depend_on_the_ranks(folders):
    one, three = (h5py.File(folder / "wall_shear.vtkhdf")["VTKHDF/CellData"] for folder in folders)
    assert set(one) == {"wall_shear_stress", "time_averaged_wall_shear_stress", "oscillatory_shear_index"}
    assert np.abs(one["wall_shear_stress"][...]).max() > 0.0
    for name in one:
        np.testing.assert_array_equal(one[name][...], three[name][...])
    assert len({json.dumps(json.loads((folder / "summary.json").read_text())["wall_shear"]) for folder in folders}) == 1


@pytest.mark.parametrize("name", ["cut", "point"])
def test_probes_do_not_depend_on_the_ranks(folders, name):
    one, three = ((folder / f"probe_{name}.csv").read_text() for folder in folders)
    assert one == three and len(one.splitlines()) > 3


def test_permeability_does_not_depend_on_the_ranks(tmp_path, mpirun):
    rock = {
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
    }
    case, found = write_case(tmp_path, **rock), []
    for n in (1, 3):
        done = mpirun(n, ["-m", "muphy_lb", "run", case, "-o", tmp_path / str(n)])
        assert done.returncode == 0, done.stderr
        found.append(json.loads((tmp_path / str(n) / "summary.json").read_text())["permeability"])
    assert found[0] == found[1] and found[0]["permeability_m2"] > 0.0


def test_heat_and_probes_of_a_thermal_flow_do_not_depend_on_the_ranks(tmp_path, mpirun):
    cavity = {
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
        "output": {"series_every_steps": 20},
        "run": {"steps": 60},
    }
    case, found = write_case(tmp_path, **cavity), []
    for n in (1, 2):
        done = mpirun(n, ["-m", "muphy_lb", "run", case, "-o", tmp_path / str(n)])
        assert done.returncode == 0, done.stderr
        found.append([(tmp_path / str(n) / f"{name}.csv").read_text() for name in ("heat", "probe_point", "probe_cut")])
    assert found[0] == found[1] and "middle_nusselt" in found[0][0]
    assert all("temperature_k" in text for text in found[0][1:])
