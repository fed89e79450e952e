"""Two fluids: exact amounts, Laplace's pressure, sliding layers, contact angles, openings, messages."""

import numpy as np
import pytest

from muphy_lb import Simulation
from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.physics.two_fluid.observers import exact_sum
from muphy_lb.run.solver import Solver
from muphy_lb.validation.two_fluid.table import circle, contact_angle, interface
from tests.laws.smallest import THROUGH, merged, smallest

TENSION = 0.01
FLOW = {
    "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.1},
    "lattice": {"name": "D2Q9", "collision": "trt", "time_step_s": 1.0},
    "compute": {"precision": "fp64", "backend": "cpu"},
    "two_fluid": {"interfacial_tension_n_m": TENSION, "kinematic_viscosity_m2_s": 0.1},
    "run": {"steps": 10**6, "ramp_steps": 0},
}


def channel(length: int, height: int, **options) -> dict:
    """A channel along x of walls at y = 1/2 and height + 1/2."""
    return {"shape": "channel", "spacing_m": 1.0, "options": {"length": length, "height": height, "width": 1} | options}


def amounts(solver) -> tuple[int, int]:
    """The amounts of both fluids in whole units."""
    first, second = (solver.model_field(name).astype(object).sum() for name in ("first", "second"))
    return first, second


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_the_amount_of_each_fluid_never_changes(precision):
    geometry = {"shape": "random_solid", "spacing_m": 1.0, "options": {"shape_zyx": [12, 12, 12], "porosity": 0.7}}
    case = {
        "geometry": geometry,
        "lattice": {"name": "D3Q19"},
        "compute": {"precision": precision},
        "flow": {"acceleration_m_s2": [1e-4, 0.0, 0.0]},
        "two_fluid": {"contact_angle_deg": 50.0, "second": [{"centre_m": [6.0, 6.0, 6.0], "radius_m": 4.0}]},
    }
    solver = Solver(case_from_dict(merged(FLOW, case)))
    before = amounts(solver)
    solver.step(200)
    assert amounts(solver) == before
    assert np.ptp(solver.model_field("phase")) > 1.9 and np.abs(solver.model_field("phase")).max() <= 1.0


def test_a_drop_has_the_pressure_of_laplace(tmp_path):
    np.save(tmp_path / "open.npy", np.ones((1, 36, 36), dtype=np.uint8))
    geometry = {"file": str(tmp_path / "open.npy"), "spacing_m": 1.0, "periodic": "xy"}
    drop = {"second": [{"centre_m": [17.5, 17.5, 0.0], "radius_m": 10.0}]}
    with Simulation(merged(FLOW, {"geometry": geometry, "two_fluid": drop})) as sim:
        sim.step(3000)
        phase, pressure = sim.core.model_field("phase"), sim.pressure_pa()
        radius = circle(*interface(phase.reshape(36, 36)))[2]
        rise = pressure[phase < -0.9999].mean() - pressure[phase > 0.9999].mean()
        assert rise * radius == pytest.approx(TENSION, rel=0.01)


@pytest.mark.night
def test_a_small_drop_keeps_its_fluid(tmp_path):
    size, radius = 80, 4.0
    np.save(tmp_path / "open.npy", np.ones((1, size, size), dtype=np.uint8))
    geometry = {"file": str(tmp_path / "open.npy"), "spacing_m": 1.0, "periodic": "xy"}
    centre = (size - 1) / 2
    drop = {"second": [{"centre_m": [centre, centre, 0.0], "radius_m": radius}]}
    solver = Solver(case_from_dict(merged(FLOW, {"geometry": geometry, "two_fluid": drop})))
    solver.step(2000)
    second, place = solver.model_field("second") / 2.0**50, solver.nodes.coordinates()
    far = np.hypot(place[:, 0] - centre, place[:, 1] - centre) > radius + 10.0
    assert second.sum() > 50.0 and second[far].sum() < 0.01


@pytest.mark.parametrize(("ratio", "within"), [(10.0, 0.03), (0.1, 0.06)])
def test_layers_slide_past_each_other_with_the_stress_of_both(ratio, within):
    """Flow of the core over that of the whole channel with its fluid; mu of the core over that of the films: ratio."""
    height, drive, own = 32, 1e-7, 0.1 * ratio**0.5
    films = [
        {"box_m": [[-9.0, -9.0, -9.0], [99.0, 0.5 + height / 4, 9.0]]},
        {"box_m": [[-9.0, 0.5 + 3 * height / 4, -9.0], [99.0, 99.0, 9.0]]},
    ]
    case = {
        "geometry": channel(3, height),
        "fluid": {"kinematic_viscosity_m2_s": own},
        "flow": {"acceleration_m_s2": [drive, 0.0, 0.0]},
        "two_fluid": {"kinematic_viscosity_m2_s": own / ratio, "second": films},
    }
    with Simulation(merged(FLOW, case)) as sim:
        sim.step(20000)
        phase, u = sim.core.model_field("phase"), sim.velocity_m_s()[:, 0]
        share = ((1.0 + phase) / 2).mean()
        found = ((1.0 + phase) / 2 * u).sum() / 3 / (drive * height**3 / 12.0 / own)
    assert share == pytest.approx(0.5, abs=1e-12)
    assert found == pytest.approx(share * (1.5 * ratio + share**2 * (1.0 - 1.5 * ratio)), rel=within)


@pytest.mark.night
@pytest.mark.parametrize("angle_deg", [30.0, 60.0, 90.0, 120.0])
def test_a_drop_on_a_wall_has_the_contact_angle(angle_deg):
    radius, length, height = 16.0, 96, 48
    drop = {"centre_m": [length / 2 - 0.5, 0.5, 0.0], "radius_m": radius}
    two_fluid = {"contact_angle_deg": angle_deg, "second": [drop]}
    with Simulation(merged(FLOW, {"geometry": channel(length, height), "two_fluid": two_fluid})) as sim:
        sim.step(12000)
        phase, place = sim.core.model_field("phase"), sim.nodes.coordinates()
    box = np.zeros((height, length))
    box[place[:, 1] - place[:, 1].min(), place[:, 0] - place[:, 0].min()] = phase
    assert contact_angle(box) == pytest.approx(angle_deg, abs=3.0)


def test_exchanged_fluids_move_alike():
    """With the other angle, to the last digit, at walls along axes and between them."""
    holes = {"shape": "random_solid", "spacing_m": 1.0, "options": {"shape_zyx": [1, 16, 24], "porosity": 0.8}}
    left, right = ([[a, -1.0, -1.0], [b, 99.0, 9.0]] for a, b in ((-1.0, 11.5), (11.5, 99.0)))
    phases = []
    for angle_deg, second, viscosities in ((37.0, left, (0.05, 0.2)), (143.0, right, (0.2, 0.05))):
        two_fluid = {"contact_angle_deg": angle_deg, "second": [{"box_m": second}]}
        two_fluid["kinematic_viscosity_m2_s"] = viscosities[1]
        fluid = {"kinematic_viscosity_m2_s": viscosities[0]}
        solver = Solver(case_from_dict(merged(FLOW, {"geometry": holes, "fluid": fluid, "two_fluid": two_fluid})))
        solver.step(150)
        phases.append(solver.model_field("phase"))
    assert np.abs(phases[0]).max() == 1.0 and np.array_equal(phases[0], -phases[1])


def test_a_fluid_that_enters_takes_the_volume_that_flows():
    speed, n_steps, height = 0.01, 600, 10
    openings = [
        {"name": "inlet", "velocity_m_s": speed, "second_fluid": 0.75},
        {"name": "outlet", "pressure_pa": 0.0},
    ]
    case = {"geometry": channel(40, height, ends="open"), "openings": openings}
    with Simulation(merged(FLOW, case)) as sim:
        sim.step(n_steps)
        second = amounts(sim.core)[1] / 2.0**50
        assert second == pytest.approx(0.75 * speed * height * n_steps, rel=0.03)
        assert sim.core.model_field("phase").min() > -1.0


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"compute": {"precision": "fp16"}}, r"compute\.precision is 'fp16' with \[two_fluid\].*'fp32', 'fp64'"),
        ({"lattice": {"walls": "bouzidi"}}, r"lattice\.walls is 'bouzidi' with \[two_fluid\]; allowed: 'half-way'"),
        ({"lattice": {"collision": "regularised"}}, r"lattice\.collision is 'regularised' with \[two_fluid\]"),
        ({"lattice": {"smagorinsky": 0.1}}, "viscosities of its own; leave viscosity laws and smagorinsky out"),
        ({"output": {"fields": ["stress"]}}, r"'stress' in output\.fields knows the viscosity of one fluid only"),
        ({"output": {"wall_shear": True}}, r"output\.wall_shear knows the viscosity of one fluid only"),
        ({"two_fluid": {"contact_angle_deg": 5.0}}, "two_fluid.contact_angle_deg is 5.0"),
        (
            {"two_fluid": {"kinematic_viscosity_m2_s": 9.0}},
            "two_fluid.kinematic_viscosity_m2_s gives a relaxation time",
        ),
        ({"two_fluid": {"initial_file": "a.npy"}}, "has second and initial_file; give one of them"),
    ],
)
def test_a_case_that_cannot_be_computed_is_refused(sections, told):
    with pytest.raises(InputError, match=told):
        Solver(smallest("two_fluid", **sections))


def test_the_time_step_told_for_a_large_tension_works():
    case = smallest("two_fluid", two_fluid={"interfacial_tension_n_m": 1.0})
    with pytest.raises(InputError, match=r"set lattice\.time_step_s = ([\d.e-]+) or less") as refusal:
        Solver(case)
    told = float(str(refusal.value).split("time_step_s = ")[1].split()[0])
    Solver(smallest("two_fluid", two_fluid={"interfacial_tension_n_m": 1.0}, lattice={"time_step_s": told}))


def test_sums_of_amounts_are_exact_beyond_the_range_of_an_integer():
    values = np.array([2**62, 2**62, 2**62, -5, 3])
    assert exact_sum(values) == 3 * 2**62 - 2 and exact_sum(np.array([-7, 2], dtype=np.int32)) == -5


def test_a_wall_has_its_own_angle():
    walls = [{"name": "low", "box_m": [[-1.0, -1.0, -1.0], [20.0, 0.0, 1.0]], "wetting_angle_deg": 120.0}]
    solver = Solver(smallest("two_fluid", walls=walls, openings=THROUGH, geometry={"options": {"ends": "open"}}))
    cotangent = solver.local_field("contact_cotangent")
    assert sorted(np.unique(np.round(cotangent, 6))) == pytest.approx([-0.57735, 0.0, 0.57735], abs=1e-5)
