"""The message of a diverged run names the cause, and its remedies, followed, give a run that goes through."""

import re

import pytest

from muphy_lb.base.errors import DivergedError, InputError
from muphy_lb.setup.numerics import resolve
from tests.channel import open_channel, simulate

STEPS = 700
COARSE = {"kinematic_viscosity_m2_s": 1e-7}
WIDE = {"spacing_m": 1e-3, "options": {"length": 40, "height": 12, "width": 1, "ends": "open"}}
PLUG = {"velocity_m_s": 0.05, "profile": "plug"}


def case_with(lattice=None, geometry=WIDE, inlet=PLUG, **sections):
    """A channel whose flow needs more than its voxels can do."""
    lattice = {"time_step_s": None} | (lattice or {"lattice_velocity": 0.08, "collision": "trt"})
    return open_channel(inlet=inlet, geometry=geometry, lattice=lattice, walls=[], **sections)


def message_of(case) -> str:
    with pytest.raises(DivergedError) as caught:
        run(case)
    return str(caught.value)


def run(case, steps=STEPS):
    simulation = simulate(case)
    for _ in range(steps // 50):
        simulation.step(50)
        simulation.health()
    return simulation


def proposed(message: str, key: str) -> float:
    return float(re.search(rf"{re.escape(key)} = ([-+.\de]+)", message)[1])


LATTICE = {"lattice_velocity": 0.08, "collision": "bgk"}


@pytest.fixture(scope="module")
def coarse():
    """The message of a channel with a cell Reynolds number of 500."""
    with pytest.raises(InputError) as caught:
        run(case_with(LATTICE, fluid=COARSE))
    return str(caught.value)


def test_too_large_a_reynolds_number_of_a_voxel_is_named(coarse):
    assert re.search(
        "Reynolds number is 500, at .* m/s: above 25 flow through openings from an inlet with a plug", coarse
    )
    diverged = message_of(case_with(LATTICE | {"smagorinsky": 0.01}, fluid=COARSE))
    assert "the cell Reynolds number, u dx / nu, is 500, above 10" in diverged
    assert "a shorter time step does not change that" in diverged


def test_the_voxel_edge_that_it_names_is_stable(coarse):
    spacing_m = proposed(coarse, "geometry.spacing_m")
    assert spacing_m < 2e-5
    run(case_with(LATTICE, WIDE | {"spacing_m": spacing_m}, fluid=COARSE))


def test_the_smagorinsky_constant_that_it_names_is_stable(coarse):
    assert "and lattice.collision = 'recursive-regularised'" in coarse
    model = {"smagorinsky": proposed(coarse, "lattice.smagorinsky"), "collision": "recursive-regularised"}
    simulation = run(case_with(LATTICE | model, fluid=COARSE))
    assert simulation.health().max_speed < 0.2  # no checkerboard behind the inlet: its velocity is 0.08


def test_a_velocity_too_large_for_the_lattice_is_named_and_the_proposed_one_is_stable():
    lattice = {"lattice_velocity": 0.28, "collision": "trt"}
    viscous = {"kinematic_viscosity_m2_s": 8e-6}
    message = message_of(case_with(lattice, fluid=viscous))
    assert "next to opening 'outlet'" in message
    assert "the velocity is 0.28 voxels per time step (Mach number 0.48)" in message
    slower = proposed(message, "lattice.lattice_velocity")
    assert slower == pytest.approx(0.05)
    run(case_with(lattice | {"lattice_velocity": slower}, fluid=viscous))


def test_pressures_that_drive_the_flow_too_fast_are_named_and_the_proposed_time_step_is_stable():
    openings = [{"name": "inlet", "pressure_pa": 0.3}, {"name": "outlet", "pressure_pa": 0.0}]
    drive = {"openings": openings, "fluid": {"kinematic_viscosity_m2_s": 4e-6}}

    def driven(time_step_s):
        return case_with({"time_step_s": time_step_s, "collision": "trt"}, inlet=None, **drive)

    message = message_of(driven(0.015))
    assert "the case imposes no velocity, and its pressures or forces drive the flow" in message
    run(driven(proposed(message, "lattice.time_step_s")))


def test_a_short_relaxation_time_is_warned_of_with_a_time_step_that_mends_it():
    """Slow flow in small steps: finer voxels would leave the relaxation time as it is."""
    lattice = {"relaxation_time": 0.5005, "collision": "trt"}
    case = case_with(lattice, fluid={"kinematic_viscosity_m2_s": 1e-4})
    (warning,) = resolve(case).warnings
    assert "the relaxation time 0.5005 is close to 0.5" in warning
    better = proposed(warning, "lattice.relaxation_time")
    assert better > 0.6
    mended = case_with(lattice | {"relaxation_time": better}, fluid={"kinematic_viscosity_m2_s": 1e-4})
    assert not resolve(mended).warnings
    run(mended)
