"""The mean velocity of beads under a force, and their temperature in a fluid that does not notice them."""

import numpy as np
import pytest

from muphy_lb.base.units import BOLTZMANN_J_K
from muphy_lb.case.case import case_from_dict
from muphy_lb.physics.particles.beads.checks import drifting_friction, excess_temperature
from muphy_lb.physics.particles.beads.observers import BeadSeries
from muphy_lb.run.solver import Solver

PULL, FRICTION = 1e-6, 0.2
KELVIN = 1e-4 / BOLTZMANN_J_K


def beads_of(keys, **tables) -> Solver:
    """A periodic box with beads of mass 1, in lattice units."""
    beads = {"kind": "beads", "name": "b", "mass_kg": 1.0, "friction_kg_s": FRICTION, "count": 3, **keys}
    geometry = {"spacing_m": 1.0, "shape": "random_solid", "options": {"shape_zyx": [4, 4, 4], "porosity": 1.0}}
    fluid = {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 1 / 6, **tables.pop("fluid", {})}
    lattice = {"name": "D3Q19", "collision": "bgk", "time_step_s": 1.0}
    compute = {"backend": "numpy", "precision": "fp64"}
    tables |= {
        "run": {"steps": 1},
        "geometry": geometry,
        "fluid": fluid,
        "lattice": lattice,
        "compute": compute,
        "particles": [beads],
    }
    return Solver(case_from_dict(tables))


@pytest.mark.parametrize(("coupling", "substeps"), [("at-rest", 1), ("at-rest", 3), ("one-way", 1)])
def test_beads_that_are_pulled_move_with_force_over_friction(coupling, substeps, tmp_path):
    simulation = beads_of({"coupling": coupling, "substeps": substeps, "pull": {"force_n": [PULL, 0.0, 0.0]}})
    simulation.step(100)
    (species,) = simulation.physics[0].species
    series = BeadSeries(simulation, tmp_path, None, species)
    told = dict(zip(series.columns(), series.numbers(), strict=True))
    assert told["mean_velocity_m_s"] == pytest.approx(PULL / FRICTION, rel=1e-6)
    columns = simulation.particles()["b"]
    before = columns["travelled_x"]
    simulation.step(1)
    moved = simulation.particles()["b"]["travelled_x"] - before
    assert moved == pytest.approx(told["mean_velocity_m_s"], rel=1e-6)


@pytest.mark.parametrize(("kernel", "measured"), [("linear", 0.0297), ("point", 0.0693)])
def test_the_heat_of_a_fluid_that_does_not_notice_is_that_which_was_measured(kernel, measured):
    """600 beads of mass 1 in a box of 16 voxels, 4000 steps: +- 0.0017."""
    assert excess_temperature(0.1, 1.0, 1 / 6, kernel, 3) == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(("kernel", "drifting"), [("linear", 0.2150), ("point", 0.1664)])
def test_beads_that_drift_as_smaller_spheres_than_asked_are_told_with_the_friction_that_does(kernel, drifting):
    """Measured in a box of 32 voxels, its images taken off (Hasimoto): 0.2149 and 0.1724 voxels in place of 0.3, and
    0.2998 and 0.3205 with the friction that is told."""
    asked = {"friction_kg_s": None, "radius_m": 0.3, "kernel": kernel}
    (told,) = drifts_told(asked)
    assert f"spheres of {drifting:.3g} m, not of radius_m = 0.3 m" in told
    friction = float(told.split("friction_kg_s = ")[1].split()[0])
    assert drifting_friction(6.0 * friction, kernel) == pytest.approx(6.0 * np.pi * 0.3, rel=1e-3)
    for fitting in ({"friction_kg_s": friction}, asked | {"coupling": "one-way"}, asked | {"radius_m": 0.03}):
        assert not drifts_told(fitting)
    assert drifts_told(asked | {"radius_m": 3.0})[0].endswith("or take larger voxels")


def drifts_told(keys) -> list[str]:
    return [text for physics in beads_of(keys).physics for text in physics.warnings() if "they drift as" in text]


def test_beads_that_a_fluctuating_fluid_heats_are_warned_of():
    one_way, both = (
        beads_of({"coupling": coupling, "friction_kg_s": 0.1}, fluid={"temperature_k": KELVIN}, fluctuating={})
        for coupling in ("one-way", "both")
    )
    (told,) = [text for physics in one_way.physics for text in physics.warnings()]
    assert "particles.b: they become about 2.8 % hotter than the fluid" in told and "coupling = 'both'" in told
    assert [text for physics in both.physics for text in physics.warnings()] == []
    quiet = beads_of({"coupling": "one-way"}, fluid={"temperature_k": KELVIN})
    assert np.size([text for physics in quiet.physics for text in physics.warnings()]) == 0
