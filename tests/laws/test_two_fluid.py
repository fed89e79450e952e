"""Two fluids: exact amounts, Laplace's pressure, sliding layers, contact angles, openings, messages."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, label

from muphy_lb import Simulation
from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLUID, SOLID, Voxels
from muphy_lb.lattice import lattice_named
from muphy_lb.measure.flow_view import filled_shares, on_root
from muphy_lb.measure.permeability import rock_of
from muphy_lb.measure.series_mean import mean_and_error
from muphy_lb.output.series import read_series
from muphy_lb.physics.two_fluid import observers
from muphy_lb.physics.two_fluid.momentum import FLUIDITY, MIXTURE
from muphy_lb.physics.two_fluid.observers import (
    FLOW_OF_BOTH,
    FLOWS,
    LEAST_LOOKS,
    TwoFluidSeries,
    exact_sum,
)
from muphy_lb.physics.two_fluid.package import TwoFluid
from muphy_lb.physics.two_fluid.start import exchanged, widest_pores
from muphy_lb.physics.two_fluid.structure import euler_number, structure
from muphy_lb.physics.two_fluid.walls import wall_normals
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings
from muphy_lb.validation.two_fluid.table import circle, contact_angle, interface
from muphy_lb.validation.two_fluid.throats import _in_throat, in_corners
from tests.laws.smallest import THROUGH, merged, smallest

TENSION = 0.01
PLATE = {"blocks_second": True}
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


@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_the_amount_of_each_fluid_never_changes(precision, backend):
    geometry = {"shape": "random_solid", "spacing_m": 1.0, "options": {"shape_zyx": [12, 12, 12], "porosity": 0.7}}
    case = {
        "geometry": geometry,
        "lattice": {"name": "D3Q19"},
        "compute": {"precision": precision, "backend": backend},
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
        assert rise * radius == pytest.approx(TENSION, rel=0.002)
        assert np.abs(sim.velocity_m_s()).max() * 0.1 / TENSION < 3e-4


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


@pytest.mark.parametrize(("ratio", "within"), [(10.0, 0.002), (0.1, 0.005), (0.01, 0.015)])
def test_layers_slide_past_each_other_with_the_stress_of_both(ratio, within):
    """Flows of core and films over those of the channel with either; mu of the core over the films': ratio."""
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
        share = float((0.5 + 0.5 * sim.core.model_field("phase")).mean())
        sums = on_root(sim.core.node_sums(FLOW_OF_BOTH).read())[0] / 3 / (drive * height**3 / 12.0 / own)
    films = 1.0 - share
    assert share == pytest.approx(0.5, abs=1e-12)
    assert sums[0] == pytest.approx(share * (1.5 * ratio + share**2 * (1.0 - 1.5 * ratio)), rel=within)
    assert sums[3] / ratio == pytest.approx(films**2 * (3.0 - films) / 2.0, rel=within)


def test_layers_that_forces_drive_against_each_other_flow_as_sharp_ones():
    """The force of the second one acts as far as it would reach if the interface were sharp."""
    depth, first, second, nu = 6.0, -4e-6, 8e-6, (0.05, 0.2)
    case = {
        "geometry": channel(4, 12),
        "fluid": {"kinematic_viscosity_m2_s": nu[0]},
        "flow": {"acceleration_m_s2": [first, 0.0, 0.0]},
        "two_fluid": {
            "kinematic_viscosity_m2_s": nu[1],
            "second_acceleration_m_s2": [second - first, 0.0, 0.0],
            "second": [{"box_m": [[-9.0, 6.5, -9.0], [9.0, 99.0, 9.0]]}],
        },
    }
    solver = Solver(case_from_dict(merged(FLOW, case)))
    solver.step(6000)
    found = depth * on_root(solver.node_sums(FLOW_OF_BOTH).read())[0][[0, 3]] / (0.5 * solver.nodes.n_nodes)
    # parabolas with no slip at both walls, one speed and one stress where they meet
    shear = np.linalg.solve(
        [[depth, depth], [nu[0], -nu[1]]],
        [depth**2 * (first / nu[0] - second / nu[1]) / 2.0, depth * (first + second)],
    )
    exact = depth**2 * shear * [0.5, -0.5] - depth**3 * np.array([first / nu[0], second / nu[1]]) / 6.0
    assert np.abs(found - exact).max() < 0.005 * np.abs(exact).sum()


def test_the_weight_of_the_second_fluid_hangs_on_its_pressure(tmp_path):
    """Two fluids at rest between two ends: the pressure grows with depth in the second one alone, on any backend."""
    g = 1e-4
    np.save(tmp_path / "open.npy", np.ones((1, 4, 16), dtype=np.uint8))
    lower = {"box_m": [[7.5, -9.0, -9.0], [99.0, 99.0, 9.0]]}
    case = {
        "geometry": {"file": str(tmp_path / "open.npy"), "spacing_m": 1.0, "periodic": "y"},
        "two_fluid": {"second_acceleration_m_s2": [g, 0.0, 0.0], "second": [lower]},
    }
    early = []
    for backend, n_steps in (("numpy", 100), ("cpu", 3000)):
        with Simulation(merged(FLOW, merged(case, {"compute": {"backend": backend}}))) as sim:
            sim.step(100)
            early.append(sim.pressure_pa())
            sim.step(n_steps - 100)
            rise = np.diff(sim.pressure_pa().reshape(4, 16).mean(axis=0))
    assert np.abs(early[0] - early[1]).max() < 1e-14
    assert rise[-4:] == pytest.approx(g, rel=1e-2) and np.abs(rise[:4]).max() < 1e-2 * g


def test_a_shear_wave_of_the_second_fluid_starts_with_its_own_stress(tmp_path):
    """As one fluid of that viscosity does."""
    np.save(tmp_path / "open.npy", np.ones((1, 12, 4), dtype=np.uint8))
    wave = np.zeros((48, 3))
    wave[:, 0] = 0.01 * np.sin(2.0 * np.pi * (np.arange(48) // 4) / 12)
    tables = {"geometry": {"file": str(tmp_path / "open.npy"), "spacing_m": 1.0, "periodic": "xy"}}
    both = merged(FLOW, tables | {"two_fluid": {"kinematic_viscosity_m2_s": 0.3, "second_saturation": 1.0}})
    one = merged({key: table for key, table in FLOW.items() if key != "two_fluid"}, tables)
    found = []
    for case in (both, merged(one, {"fluid": {"kinematic_viscosity_m2_s": 0.3}})):
        with Simulation(case) as sim:
            sim.core.set_velocity_m_s(wave)
            sim.step(2)
            found.append(sim.velocity_m_s())
    assert np.abs(found[0] - found[1]).max() < 1e-15 < np.abs(found[1]).max()


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


def periodic_box(tmp_path, size: int) -> dict:
    np.save(tmp_path / "open.npy", np.ones((size, size, size), dtype=np.uint8))
    return {"file": str(tmp_path / "open.npy"), "spacing_m": 0.5, "periodic": "xyz"}


def test_the_structure_of_a_drop_and_of_layers_is_exact(tmp_path):
    """Areas of the surface where the phase is 0, whose radius is known from the phase along an axis."""
    size = 24
    drop = {"centre_m": [5.75, 5.75, 5.75], "radius_m": 3.5}
    layer = {"box_m": [[-9.0, -9.0, 2.9], [99.0, 99.0, 6.1]]}
    for second, steps in ((drop, 100), (layer, 20)):
        case = {
            "geometry": periodic_box(tmp_path, size),
            "lattice": {"name": "D3Q19"},
            "two_fluid": {"second": [second]},
        }
        solver = Solver(case_from_dict(merged(FLOW, case)))
        solver.step(steps)
        found, phase = structure(solver), solver.model_field("phase").reshape(3 * (size,))
        assert found["first_parts"] == found["second_parts"] == 1 and found["first_connected_share"] == 1.0
        if second is drop:
            through = interface(phase[size // 2])
            radius = 0.5 * np.hypot(circle(*through)[2], 0.5)  # the plane lies half a voxel beside the centre
            assert found["interface_area_m2"] == pytest.approx(4.0 * np.pi * radius**2, rel=0.02)
            assert found["second_connected_share"] == 0.0 and found["second_euler_number"] == 1
        else:
            assert found["interface_area_m2"] == pytest.approx(2 * (0.5 * size) ** 2, rel=1e-4)
            assert found["second_connected_share"] == 1.0 and found["second_euler_number"] == 0


def test_structure_is_that_of_the_rock_without_its_reservoirs(tmp_path):
    """The second fluid is one in the reservoir, and two in both slits of the rock."""
    image = np.ones((1, 16, 20), dtype=np.uint8)
    image[:, 1:7] = image[:, 9:15] = 0
    np.save(tmp_path / "slits.npy", image)
    options = {"fluid_value": 0, "reservoir_layers": 5}
    ends = [{"name": "inlet", "pressure_pa": 0.0, "second_fluid": 1.0}, {"name": "outlet", "pressure_pa": 0.0}]
    for place, n_parts in ((-3.5, 0), (9.5, 2)):  # the rock begins at 0
        case = {
            "geometry": {"file": str(tmp_path / "slits.npy"), "spacing_m": 1.0, "options": options},
            "openings": ends,
            "two_fluid": {"second": [{"box_m": [[-9.0, -9.0, -9.0], [place, 99.0, 9.0]]}], "contact_angle_deg": 90.0},
        }
        solver = Solver(case_from_dict(merged(FLOW, case)))
        solver.step(10)
        found = structure(solver)
        assert (found["second_parts"], found["second_euler_number"]) == (n_parts, n_parts)
        assert (found["first_parts"], found["first_euler_number"]) == (2, 2)
        assert found["second_connected_share"] == float(n_parts > 0) and found["first_connected_share"] == 1.0
        assert found["interface_area_m2"] == pytest.approx(6.0 * n_parts, abs=0.05)
        of_both = found["first_wall_area_m2"], found["second_wall_area_m2"]
        assert sum(of_both) == pytest.approx(80.0, rel=0.03)  # corners at the ends are smoothed
        assert of_both[1] == pytest.approx(40.0 if n_parts else 0.0, abs=0.8)


def test_euler_numbers_of_a_ball_a_shell_a_torus_and_their_union():
    z, y, x = np.indices((20, 20, 44)) - 9.5
    ball = x**2 + y**2 + z**2 < 64.0
    shell = ball & (x**2 + y**2 + z**2 > 20.0)
    torus = (np.hypot(x - 24.0, y) - 5.5) ** 2 + z**2 < 6.0
    never, always = (False,) * 3, (True,) * 3
    for shape, number in ((ball, 1), (shell, 2), (torus, 0), (ball | torus, 1), (shell | torus, 2)):
        assert euler_number(shape, never) == number
        assert euler_number(~shape, always) == -number + euler_number(np.ones_like(shape), always) + 2 * number


def test_areas_of_walls_of_voxels_are_those_of_smooth_ones():
    geometry = {"shape": "pipe", "spacing_m": 1.0, "options": {"length": 2, "radius": 12.0, "axis": "z"}}
    two_fluid = {"contact_angle_deg": 60.0, "second": [{"box_m": [[-9.0, -9.0, -9.0], [12.0, 99.0, 9.0]]}]}
    case = {"geometry": geometry, "lattice": {"name": "D3Q19"}, "two_fluid": two_fluid}
    solver = Solver(case_from_dict(merged(FLOW, case)))
    found, radius = structure(solver), (solver.header.n_nodes / 2.0 / np.pi) ** 0.5
    of_both = found["first_wall_area_m2"], found["second_wall_area_m2"]
    assert sum(of_both) == pytest.approx(2.0 * 2.0 * np.pi * radius, rel=0.015)
    assert of_both[1] == pytest.approx(of_both[0], rel=0.07)  # by a column of voxels


@pytest.mark.parametrize(("first_wets", "wanted"), [(True, 0.7), (True, 0.2), (False, 0.7), (False, 0.2)])
def test_a_fluid_advances_through_wide_pores_unless_it_wets(first_wets, wanted):
    """From a room on the left, where the second one is, into a wide and a narrow channel, or back."""
    fluid = np.zeros((1, 14, 30), dtype=np.uint8)
    fluid[0, 1:13, 1:10], fluid[0, 1:7, 10:29], fluid[0, 10:12, 10:29] = FLUID, FLUID, FLUID
    nodes = build_nodes(Voxels(fluid))
    x, y = nodes.coordinates()[:, 0], nodes.coordinates()[:, 1]
    phase = np.where(x < 10, -1.0, 1.0)
    phase[x == 10] = 0.5
    found = exchanged(nodes, phase, wanted, first_wets)
    assert abs((0.5 - 0.5 * found).sum() - wanted * nodes.n_nodes) < 1.0
    moved, second_gains = found != phase, wanted > 0.5
    assert (found[moved] == (-1.0 if second_gains else 1.0)).all()
    into_wide = first_wets == second_gains
    if second_gains:
        full, deep = ((y < 8) == into_wide) & (x >= 10), moved & (x > 20)
        assert moved[full].all() if not into_wide else not moved[~full].any()
        assert set(y[deep] < 8) <= {into_wide}
    else:
        assert x[moved].min() < 9


def test_a_fluid_that_is_nowhere_cannot_advance():
    nodes = build_nodes(Voxels(np.full((1, 4, 6), FLUID, dtype=np.uint8)))
    with pytest.raises(InputError, match=r"second_saturation is 0\.3, which cannot be reached"):
        exchanged(nodes, np.ones(nodes.n_nodes), 0.3, True)


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


def test_axes_are_alike(tmp_path):
    """A flow in a rock with its axes permuted is the same flow."""
    rng, phases = np.random.default_rng(5), []
    rock, second = rng.random((10, 10, 10)) < 0.75, rng.random((10, 10, 10)) < 0.5
    for axes in ((0, 1, 2), (2, 0, 1)):
        np.save(tmp_path / "rock.npy", rock.transpose(axes).astype(np.uint8))
        np.save(tmp_path / "phase.npy", np.where(second, -1.0, 1.0).transpose(axes))
        force = np.array([1e-4, 0.0, 0.0])[[2 - axes[2 - axis] for axis in range(3)]]
        two_fluid = {"contact_angle_deg": 50.0, "initial_file": str(tmp_path / "phase.npy")}
        case = {
            "geometry": {"file": str(tmp_path / "rock.npy"), "spacing_m": 1.0, "periodic": "xyz", "keep": "all"},
            **{"lattice": {"name": "D3Q19"}, "flow": {"acceleration_m_s2": force.tolist()}, "two_fluid": two_fluid},
        }
        solver = Solver(case_from_dict(merged(FLOW, case)))
        solver.step(60)
        box = np.full((10, 10, 10), np.nan)
        box.reshape(-1)[solver.nodes.voxel] = solver.model_field("phase")
        phases.append(box.transpose(np.argsort(axes)))
    assert np.nanmax(np.abs(phases[0] - phases[1])) < 1e-10 < np.nanstd(phases[0])


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


def test_a_porous_plate_keeps_the_second_fluid_back():
    """Driven against the plate it comes to rest there, and has lost none of itself."""
    openings = [
        {"name": "inlet", "pressure_pa": 0.004, "second_fluid": 1.0},
        {"name": "outlet", "pressure_pa": 0.0, "blocks_second": True},
    ]
    two_fluid = {"second": [{"box_m": [[-9.0, -9.0, -9.0], [8.0, 99.0, 9.0]]}]}
    case = {"geometry": channel(16, 6, ends="open"), "openings": openings, "two_fluid": two_fluid}
    with Simulation(merged(FLOW, case)) as sim:
        sim.step(1000)
        before = amounts(sim.core)
        sim.step(1000)
        after = amounts(sim.core)
        assert sim.openings["outlet"].flow_rate_m3_s == 0.0
        assert after[1] / after[0] > 5.0 and after[1] - before[1] < 1e-3 * after[1]
        assert sum(after) == pytest.approx(sum(before), rel=5e-4)


def test_the_fluid_that_does_not_wet_starts_in_the_widest_pores():
    wide, narrow = slice(1, 7), slice(8, 11)
    fluid = np.zeros((1, 12, 20), dtype=np.int64) + 1
    fluid[:, wide], fluid[:, narrow] = 0, 0
    tables = {"spacing_m": 1.0, "periodic": "x"}
    for angle_deg, place in ((60.0, wide), (120.0, narrow)):
        two_fluid = {"contact_angle_deg": angle_deg, "second_saturation": 1 / 3 if angle_deg > 90.0 else 2 / 3}
        with Simulation(merged(FLOW, {"geometry": tables, "two_fluid": two_fluid}), geometry=fluid) as sim:
            y = sim.nodes.coordinates()[:, 1]
            assert np.array_equal(sim.core.model_field("phase") < 0.0, (y >= place.start) & (y < place.stop))
            assert np.count_nonzero(widest_pores(sim.nodes, 7)) == 7


def test_the_widest_pores_of_a_periodic_box_do_not_depend_on_where_it_begins():
    """Walls behind the next box touch spheres there; all seven nodes lie in spheres of radius sqrt(2)."""
    flags = np.full((1, 3, 3), FLUID, dtype=np.uint8)
    flags[0, [0, 2], 0] = SOLID
    for shift in range(3):
        nodes = build_nodes(Voxels(np.roll(flags, shift, axis=2), periodic=(True, True, False)))
        assert np.array_equal(widest_pores(nodes, 6), np.arange(7) < 6)


def test_the_share_that_enters_changes_at_once():
    """On the same engine, as on a new one to which the state moves."""
    openings = [{"name": "inlet", "velocity_m_s": 0.02}, {"name": "outlet", "pressure_pa": 0.0}]
    case = merged(FLOW, {"geometry": channel(10, 6, ends="open"), "openings": openings})
    openings = [openings[0] | {"second_fluid": 0.4}, openings[1]]
    other = Solver(case_from_dict(case | {"openings": openings}))
    with Simulation(case_from_dict(case)) as sim:
        core = sim.core
        sim.step(7)
        other.state.go_on_from(core.state.record())
        sim.change({"openings.inlet.second_fluid": 0.4})
        sim.step(7)
        other.step(7)
        assert sim.core is core
        assert core.model_field("phase").min() < 0.9 and amounts(core) == amounts(other)
        assert np.array_equal(core.model_field("phase"), other.model_field("phase"))


def test_with_a_force_the_fluid_that_does_not_wet_comes_from_the_first_layer():
    """From there it is connected; without a force it fills the middle of the wider of two rooms."""
    fluid = np.ones((1, 22, 40), dtype=np.int64)
    fluid[:, 9:13] = 0  # the way through
    fluid[:, 6:16, 4:14], fluid[:, 4:18, 22:36] = 0, 0
    tables = {"geometry": {"spacing_m": 1.0, "periodic": "x"}, "two_fluid": {"contact_angle_deg": 60.0}}
    second, share = np.zeros((2, 22, 40), dtype=bool), 120 / int(np.count_nonzero(fluid == 0))
    for row, force in enumerate((0.0, 1e-5)):
        case = tables | {"flow": {"acceleration_m_s2": [force, 0.0, 0.0]}}
        case["two_fluid"] = tables["two_fluid"] | {"second_saturation": share}
        with Simulation(merged(FLOW, case), geometry=fluid) as sim:
            x, y, _ = sim.nodes.coordinates().T
            second[row, y, x] = sim.core.model_field("phase") < 0.0
    assert second.sum(axis=(1, 2)).tolist() == [120, 120]
    assert second[0, :, 22:36].sum() == 120 and second[1, 9:13, 0].all()
    assert label(np.roll(second[1], 20, axis=1))[1] == 1


def test_the_first_layer_along_a_force_is_one_of_nodes():
    """Walls may lie before it, and the force may point the other way; then the first nodes of all were filled."""
    fluid = np.ones((1, 14, 20), dtype=np.int64)
    fluid[:, 2:12] = 0
    tables = {"geometry": {"spacing_m": 1.0, "periodic": "x"}, "two_fluid": {"second_saturation": 0.5}}
    for force, is_filled in ((1e-5, slice(2, 7)), (-1e-5, slice(7, 12))):
        case = tables | {"flow": {"acceleration_m_s2": [0.0, force, 0.0]}}
        with Simulation(merged(FLOW, case), geometry=fluid) as sim:
            y = sim.nodes.coordinates()[:, 1]
            second = sim.core.model_field("phase") < 0.0
            assert np.array_equal(second, (y >= is_filled.start) & (y < is_filled.stop))


def test_the_flows_told_are_those_of_both_fluids(tmp_path):
    case = {
        "geometry": channel(12, 8),
        "flow": {"acceleration_m_s2": [1e-4, 0.0, 0.0]},
        "two_fluid": {"second": [{"centre_m": [5.0, 4.0, 0.0], "radius_m": 3.0}]},
        "output": {"series_every_steps": 20, "picture": False, "report": False},
    }
    with Simulation(merged(FLOW, case)) as sim:
        sim.run(steps=20, folder=tmp_path)
        u, share = sim.velocity_m_s(), 0.5 + 0.5 * sim.core.model_field("phase")
        n_voxels = np.prod(sim.core.header.shape)
        drift = np.array([sim.core.model_field(f"drift_{axis}") for axis in "xyz"])
        apart = drift @ (share * (1.0 - share))
        assert np.abs(apart).max() > 1e-4
        expected = [*(share @ u + apart), *((1.0 - share) @ u - apart)]
        series = read_series(tmp_path / "two_fluid.csv")
        assert [series[name][-1] * n_voxels for name in FLOWS] == pytest.approx(expected, rel=1e-9, abs=1e-15)


def looked(wave, speed_m_s: float = 0.1, steps: int = 10_000) -> TwoFluidSeries:
    """The series of a flow of the first fluid in a box of 4 m, half of it solid, in time steps of 0.1 s."""
    series = TwoFluidSeries.__new__(TwoFluidSeries)
    series._viscosities, series._known_within, series._earlier = np.ones(6), 0.02, []
    series._looks = np.outer(wave, [speed_m_s, 0.0, 0.0, 0.0, 0.0, 0.0]).tolist()
    units = SimpleNamespace(time_step_s=0.1, spacing_m=0.5)
    series._view = SimpleNamespace(
        header=SimpleNamespace(shape=(4, 2, 8), n_nodes=32), nodes=None, units=units, step_number=steps
    )
    return series


def test_the_lengths_of_the_box_are_those_that_a_mean_flow_goes_through():
    """Darcy velocities of 0.1 and 0.3 m/s with half of the box solid: 0.8 m/s in the pores, for 30 s of 4 m."""
    series = looked(np.ones(LEAST_LOOKS), steps=300)
    series._looks = [[0.1, 0.0, 0.0, 0.3, 0.0, -0.01]] * LEAST_LOOKS
    assert series._box_lengths() == pytest.approx(0.8 * 30.0 / 4.0)


def test_the_turning_point_of_a_slow_wave_is_no_known_flow():
    """There the second half of a run hardly changes."""
    for wave, is_known in ((np.cos(np.linspace(-0.9, 0.3, 128)), False), (np.ones(128), True)):
        series = looked(wave)
        assert mean_and_error(wave[64:])[1] < series._known_within
        assert series._are_known() is is_known


@pytest.mark.parametrize(
    ("lengths", "n_moved", "is_known"),
    [(8.1, 500, True), (7.9, 6, False), (7.9, 5, True), (0.05, 3, False), (0.05, 2, True)],
)
def test_a_flow_is_known_once_it_has_gone_far_or_its_interfaces_rest(monkeypatch, lengths, n_moved, is_known):
    """A flow that scatters little was known after 0.6 lengths of its box, with k of 0.217 for 0.281."""
    series, n = looked(np.ones(128), steps=round(lengths * 4.0 / 0.2 / 0.1)), 1000
    monkeypatch.setattr(observers, "nodes_in_rock", lambda view: slice(None))
    was_second = np.arange(n) % 3 == 0
    series._earlier = [np.packbits(was_second), np.packbits(was_second)]
    series._is_second = np.where(np.arange(n) < n_moved, ~was_second, was_second)
    assert series._moved_share() == n_moved / n
    assert series._are_known() is is_known


def test_a_slug_that_is_back_where_it_was_does_not_rest(monkeypatch):
    """It had gone round the box once since the second quarter of the run, and was told to rest."""
    series, slug = looked(np.ones(128), steps=32), np.arange(1000) < 300
    monkeypatch.setattr(observers, "nodes_in_rock", lambda view: slice(None))
    series._is_second, series._earlier = slug, [np.packbits(slug), np.packbits(np.roll(slug, 500))]
    assert series._moved_share() == 0.6 and not series._are_known()


@pytest.mark.parametrize("known_within", [None, 0.02])
def test_what_has_moved_is_told_where_it_is_looked_for(monkeypatch, known_within):
    """Other summaries had it as null."""
    series = looked(np.ones(LEAST_LOOKS))
    series._known_within, series._earlier, series._is_second = known_within, [np.zeros(1, np.uint8)] * 2, np.zeros(8)
    monkeypatch.setattr(series, "numbers", lambda: [0.0] * len(observers.COLUMNS))
    monkeypatch.setattr(observers, "structure", lambda view: {})
    monkeypatch.setattr(observers, "nodes_in_rock", lambda view: slice(None))
    record = series.finish()
    assert record["box_lengths"] > 0.0 and record.get("moved_share") == (0.0 if known_within else None)
    assert ("moved_share" in record) is (known_within is not None)


def test_what_has_moved_is_known_behind_a_restart(tmp_path):
    """It is compared with the second quarter of the whole run, which lies before the checkpoint."""
    case = {
        "geometry": channel(12, 8),
        "flow": {"acceleration_m_s2": [1e-3, 0.0, 0.0]},
        "two_fluid": {"second": [{"centre_m": [5.0, 4.0, 0.0], "radius_m": 3.0}], "known_within": 1e-6},
        "output": {"series_every_steps": 2, "picture": False, "report": False, "checkpoint_every_steps": 140},
    }
    found = []
    for name, ends in (("whole", (200,)), ("parts", (140, 200))):
        for number, steps in enumerate(ends):
            flow = Solver(case_from_dict(merged(FLOW, merged(case, {"run": {"steps": steps}}))))
            summary = Run(flow, tmp_path / name, resume=number > 0).execute()[1]
        found.append(summary["two_fluid"]["moved_share"])
    assert found[0] > 0.01
    assert found[1] == found[0]


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"compute": {"precision": "fp16"}}, r"compute\.precision is 'fp16' with \[two_fluid\].*'fp32', 'fp64'"),
        ({"compute": {"streaming": "push"}}, r"compute\.streaming is 'push' with \[two_fluid\].*'pull', 'aa'"),
        ({"lattice": {"walls": "bouzidi"}}, r"lattice\.walls is 'bouzidi' with \[two_fluid\]; allowed: 'half-way'"),
        ({"lattice": {"collision": "regularised"}}, r"lattice\.collision is 'regularised' with \[two_fluid\]"),
        ({"lattice": {"smagorinsky": 0.1}}, "viscosities of its own; leave viscosity laws and smagorinsky out"),
        ({"output": {"fields": ["stress"]}}, r"'stress' in output\.fields uses the viscosity of one fluid only"),
        ({"output": {"permeability": True}}, r"it is also driven, or changed, by openings, \[two_fluid\]"),
        ({"output": {"wall_shear": True}}, r"output\.wall_shear uses the viscosity of one fluid only"),
        ({"two_fluid": {"contact_angle_deg": 5.0}}, "two_fluid.contact_angle_deg is 5.0"),
        (
            {"two_fluid": {"kinematic_viscosity_m2_s": 9.0}},
            "two_fluid.kinematic_viscosity_m2_s gives a relaxation time",
        ),
        (
            {"two_fluid": {"second": [{"centre_m": [9.0, 0.0, 0.0], "radius_m": 0.1}]}},
            "no fluid node lies in the region",
        ),
        (
            {"two_fluid": {"second_acceleration_m_s2": [0.0, 0.0, 1e-4]}},
            "second_acceleration_m_s2 .* set its z component to 0",
        ),
        ({"two_fluid": {"initial_file": "a.npy"}}, "has second and initial_file; give one of them"),
        ({"two_fluid": {"second_saturation": 0.3}}, "has second and second_saturation; give one of them"),
        (
            {"openings": [{"name": "inlet", "velocity_m_s": 0.01} | {"blocks_second": True}, THROUGH[1]]},
            r"openings\.inlet has blocks_second, but no pressure_pa",
        ),
        (
            {"openings": [THROUGH[0], THROUGH[1] | {"blocks_second": True, "second_fluid": 0.5}]},
            r"openings\.outlet has blocks_second and second_fluid = 0\.5",
        ),
        (
            {"openings": [{"name": "inlet", "velocity_m_s": 0.01, "second_fluid": 0.5}, THROUGH[1] | PLATE]},
            r"openings\.inlet injects the second fluid at a given flow rate.*outlet has a porous plate",
        ),
        ({"two_fluid": {"interfacial_tension_n_m": 0.0}}, r"two_fluid\.interfacial_tension_n_m is 0\.0"),
        ({"two_fluid": {"kinematic_viscosity_m2_s": 40.0}}, r"kinematic_viscosity_m2_s is \S+ times that of \[fluid\]"),
        (
            {
                "walls": [{"name": "low", "box_m": [[-1.0, -1.0, -1.0], [20.0, 0.0, 1.0]], "wetting_angle_deg": 120.0}],
                "two_fluid": {"second": [], "second_saturation": 0.5, "contact_angle_deg": 60.0},
            },
            r"here either fluid wets some walls \(angles in degrees: low 120, others 60\)",
        ),
    ],
)
def test_a_case_that_cannot_be_computed_is_refused(sections, told):
    with pytest.raises(InputError, match=told):
        Solver(smallest("two_fluid", **sections))


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_the_memory_of_a_node_is_that_of_its_fields(precision):
    case = smallest("two_fluid", compute={"precision": precision})
    real = PRECISIONS[precision].real
    own = [
        (2 if field.alternates else 1) * np.dtype({"real": real}.get(field.dtype, field.dtype)).itemsize
        for field in Solver(case).engine.model.fields
    ]
    assert sum(own) == TwoFluid.bytes_per_node(case, None)


def test_a_saturation_of_pores_that_no_flow_reaches_is_refused():
    fluid = np.ones((1, 8, 12), dtype=np.int64)
    fluid[0, 1:4], fluid[0, 5:7, 3:6] = 0, 0
    tables = {"geometry": {"spacing_m": 1.0, "periodic": "x", "keep": "all"}, "two_fluid": {"second_saturation": 0.5}}
    with pytest.raises(InputError, match=r"14\.29% of their nodes are in pores that no flow reaches"):
        Simulation(merged(FLOW, tables), geometry=fluid)


def test_a_phase_that_no_fluid_has_is_refused(tmp_path):
    np.save(tmp_path / "phase.npy", np.full(80, 1.5))
    two_fluid = {"second": [], "initial_file": str(tmp_path / "phase.npy")}
    with pytest.raises(InputError, match=r"has a phase of size 1\.5; allowed: -1, the second fluid, to 1"):
        Solver(smallest("two_fluid", two_fluid=two_fluid))


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("walls", {"wetting_angle_deg": 30.0, "box_m": [[-1.0] * 3, [20.0, 0.0, 1.0]]}),
        ("openings", {"second_fluid": 0.5}),
        ("openings", {"blocks_second": True, "pressure_pa": 0.0}),
    ],
)
def test_keys_of_two_fluids_without_their_table_are_refused(kind, keys):
    with pytest.raises(InputError, match=rf"has {kind}\.one\..* but no \[two_fluid\]"):
        smallest(**{kind: [{"name": "one"} | keys]})


def test_the_time_step_told_for_a_large_tension_works():
    case = smallest("two_fluid", two_fluid={"interfacial_tension_n_m": 1.0})
    with pytest.raises(InputError, match=r"set lattice\.time_step_s = ([\d.e-]+) or less") as refusal:
        Solver(case)
    told = float(str(refusal.value).split("time_step_s = ")[1].split()[0])
    Solver(smallest("two_fluid", two_fluid={"interfacial_tension_n_m": 1.0}, lattice={"time_step_s": told}))


@pytest.mark.parametrize(("height", "is_told"), [(3, True), (4, False)])
def test_pores_without_room_for_an_interface_are_told(height, is_told):
    case = merged(
        FLOW, {"geometry": channel(8, height), "two_fluid": {"second": [{"box_m": [[-9.0] * 3, [3.0, 9.0, 9.0]]}]}}
    )
    told = [text for physics in Solver(case_from_dict(case)).physics for text in physics.warnings()]
    assert bool(told) is is_told and all("100% of the pores are at most 3 voxels wide" in text for text in told)


@pytest.mark.parametrize(("radius", "is_told"), [(5.9, True), (6.0, False)])
def test_a_drop_that_is_nowhere_pure_is_told(radius, is_told):
    second = {"second": [{"centre_m": [8.0, 8.0, 0.0], "radius_m": radius}]}
    solver = Solver(case_from_dict(merged(FLOW, {"geometry": channel(16, 16), "two_fluid": second})))
    told = [text for physics in solver.physics for text in physics.warnings()]
    assert bool(told) is is_told and all(f"a radius of {radius:g} voxels" in text for text in told)
    assert not any(physics.causes() for physics in solver.physics)  # no flow diverges by that


def test_pores_without_room_are_counted_in_the_rock_alone():
    """Reservoirs have room: here 72 of 84 nodes."""
    pores = np.zeros((1, 6, 12), dtype=np.int64)
    pores[0, 2] = 1
    options = {"fluid_value": 1, "reservoir_layers": 6}
    case = {
        "geometry": {"spacing_m": 1.0, "options": options},
        "openings": [{"name": "inlet", "pressure_pa": 0.0}, {"name": "outlet", "pressure_pa": 0.0}],
        "two_fluid": {"second": [{"box_m": [[-9.0] * 3, [3.0, 9.0, 9.0]]}]},
    }
    with Simulation(merged(FLOW, case), geometry=pores) as sim:
        told = [text for physics in sim.core.physics for text in physics.warnings()]
    assert any(text.startswith("100% of the pores") for text in told)


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize("ends", ["open", "periodic"])
def test_a_rock_is_its_image_without_reservoirs(axis, ends):
    """Also where voxels beyond the openings are in the box."""
    pores = np.zeros((1, 6, 12), dtype=np.int64)
    pores[0, 1:5] = 1
    pores[0, 2, 3] = 0
    options = {"fluid_value": 1, "reservoir_layers": 3, "reservoir_axis": "x", "reservoir_ends": ends}
    if axis == "y":
        pores, options["reservoir_axis"] = pores.swapaxes(1, 2), "y"
    openings = [{"name": "inlet", "pressure_pa": 0.0}, {"name": "outlet", "pressure_pa": 0.0}] * (ends == "open")
    case = {"geometry": {"spacing_m": 1.0, "options": options}, "openings": openings, "two_fluid": {"second": []}}
    with Simulation(merged(FLOW, case), geometry=pores) as sim:
        rock, nodes = rock_of(sim.core.header), sim.core.nodes
    assert rock.extent == pores.shape[::-1]
    assert np.count_nonzero(rock.holds(nodes.voxel[:], nodes.shape)) == pores.sum()


def test_the_lighter_fluids_advised_for_fast_interfaces_are_not_warned_of():
    """The advice keeps dynamic viscosities and tension, and with them the flow that creeps."""

    def warned(density, viscosity, time_step_s):
        fluid = {"density_kg_m3": density, "kinematic_viscosity_m2_s": viscosity}
        two_fluid = {"kinematic_viscosity_m2_s": viscosity, "interfacial_tension_n_m": 0.05}
        solver = Solver(smallest("two_fluid", fluid=fluid, two_fluid=two_fluid, lattice={"time_step_s": time_step_s}))
        causes.append([text for physics in solver.physics for text in physics.causes()])
        return [text for physics in solver.physics for text in physics.warnings()]

    causes: list[list[str]] = []
    (told,) = warned(1.0, 0.01, 1.0)
    density, times, time_step_s = (
        float(re.search(rf"{key} ?=?\s?([\d.e+-]+)", told)[1]) for key in ("density_kg_m3", "times", "time_step_s")
    )
    assert times == pytest.approx(1.0 / density, rel=0.01)
    assert warned(density, 0.01 * times, time_step_s) == []
    assert causes == [[told.replace("above 3 ", "above 0.5 ")], []]
    assert warned(1.0, 0.02, 1.0) == [] and "give fluid.density_kg_m3" in causes[-1][0]  # of a flow that has diverged


def test_pictures_show_the_nodes_of_either_fluid():
    solver = Solver(smallest("two_fluid"))
    assert (solver.field("second_share") == 0.0).any() and filled_shares(solver) is None


def test_sums_of_amounts_are_exact_beyond_the_range_of_an_integer():
    values = np.array([2**62, 2**62, 2**62, -5, 3])
    assert exact_sum(values) == 3 * 2**62 - 2 and exact_sum(np.array([-7, 2], dtype=np.int32)) == -5


def test_a_wall_has_its_own_angle():
    walls = [{"name": "low", "box_m": [[-1.0, -1.0, -1.0], [20.0, 0.0, 1.0]], "wetting_angle_deg": 120.0}]
    openings = [{"name": "inlet", "velocity_m_s": 0.01}, THROUGH[1]]
    solver = Solver(smallest("two_fluid", walls=walls, openings=openings, geometry={"options": {"ends": "open"}}))
    assert "capillary number of what enters 0.3: a tenth" in solver.describe()
    cosine = solver.local_field("contact_cosine")
    assert sorted(np.unique(np.round(cosine, 6))) == pytest.approx([-0.5, 0.0, 0.5], abs=1e-5)


def walls_of(fluid: np.ndarray, periodic=(False, False, False)):
    """Places of the nodes beside walls, normals, and curvatures, the larger and the smaller one."""
    nodes = build_nodes(Voxels(np.where(fluid, FLUID, SOLID).astype(np.uint8), periodic=periodic))
    at, rows = wall_normals(nodes, lattice_named("D3Q19"), np.array([60.0]))
    least = (rows[:3] * rows[4:]).sum(axis=0)
    return nodes.coordinates(at), rows[:3], least + ((rows[4:] - least * rows[:3]) ** 2).sum(axis=0), least


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_normals_and_curvatures_of_walls_of_voxels_are_those_of_a_ball(sign):
    away, radius = np.indices((32, 32, 32))[::-1] - 15.6, 9.0
    distance = np.linalg.norm(away, axis=0)
    place, normal, most, least = walls_of(sign * (distance - radius) > 0.0, (True,) * 3)
    out = sign * (place - 15.6) / np.linalg.norm(place - 15.6, axis=1, keepdims=True)
    near = np.linalg.norm(place - 15.6, axis=1) < radius + 2.0
    angle = np.degrees(np.arccos(np.clip((normal.T * out).sum(axis=1), -1.0, 1.0)))[near]
    assert np.sqrt((angle**2).mean()) < 0.6 and angle.max() < 1.5
    for found in (most[near], least[near]):
        assert sign * found.mean() * radius == pytest.approx(1.0, abs=0.06)
        assert found.std() * radius < 0.1


def test_planes_beside_a_corner_keep_their_normals():
    """Walls are smoothed, which turned them on three voxels beside it."""
    fluid = np.zeros((1, 20, 20), dtype=bool)
    fluid[:, 4:, 4:] = True
    place, normal, most, least = walls_of(fluid)
    floor = (place[:, 1] == 4) & (place[:, 0] > 4) & (place[:, 0] < 10)
    assert floor.sum() == 5 and np.array_equal(normal[:, floor].T, [[0.0, 1.0, 0.0]] * 5)
    assert not most[floor].any() and not least[floor].any()


def test_a_node_beside_corners_of_three_planes_does_not_depend_on_the_order_of_axes():
    """One plane had taken the place of another."""
    fluid = np.zeros((16, 16, 16), dtype=bool)
    fluid[4:, 4:, 4:], fluid[4, 4, 8:] = True, False
    place, normal, *_ = walls_of(fluid)
    turned, found, *_ = walls_of(fluid.transpose(2, 0, 1))
    order, other = np.lexsort(place.T), np.lexsort(turned[:, [2, 0, 1]].T)
    assert np.array_equal(place[order], turned[other][:, [2, 0, 1]])
    assert np.allclose(normal[:, order], found[:, other][[2, 0, 1]], atol=1e-12)


def test_walls_around_the_image_count_beside_grains():
    """Only grains were smoothed, and a side wall had the normal of the one beside it."""
    fluid = np.ones((1, 12, 30), dtype=bool)
    fluid[:, :2, 13:17] = False
    place, normal, *_ = walls_of(fluid)
    above = (place[:, 1] == 11) & (place[:, 0] > 8) & (place[:, 0] < 21)
    assert normal[1, above].max() < -0.999


def test_a_thin_fluid_leaves_behind_a_thick_one_through_a_pressure():
    """Planes that reflected by the viscosity of the thick one drove the thin one on (a Mach number of 1e12)."""
    openings = [{"name": "inlet", "velocity_m_s": 0.04, "second_fluid": 1.0}, {"name": "outlet", "pressure_pa": 0.0}]
    case = {
        "geometry": channel(40, 8, ends="open"),
        "openings": openings,
        "fluid": {"kinematic_viscosity_m2_s": 0.3},
        "two_fluid": {
            "kinematic_viscosity_m2_s": 0.006,
            "interfacial_tension_n_m": 0.018,
            "contact_angle_deg": 45.0,
            "second": [{"box_m": [[-9.0, -9.0, -9.0], [30.0, 99.0, 99.0]]}],
        },
    }
    sim = Simulation(case_from_dict(merged(FLOW, case)))
    sim.step(1000)
    assert np.abs(sim.velocity_m_s()).max() < 0.1


def test_planes_reflect_no_slower_than_a_thinner_second_fluid_bears():
    """And as the first one does, to the last bit, unless the second is thinner."""

    def found(first, second):
        own = 1.0 / (0.5 + 3.0 * first)
        return own, MIXTURE.of_planes(own, {FLUIDITY[0]: 1.0 / (6.0 * first), FLUIDITY[1]: 1.0 / (6.0 * second)})

    assert all(own == of_planes for own, of_planes in (found(0.3, 0.3), found(0.3, 0.9), found(0.1, 0.02)))
    assert found(0.3, 0.02)[1] == 1.0
    assert found(0.5, 0.3)[1] == pytest.approx(1.0 / (0.5 + 3.0 * 0.3))


def test_oil_between_two_corners_stays_on_the_wall():
    """Surfaces of equal phase between both menisci lay flatter than the angle, and drew water along it (-0.39)."""
    half, side = 12, 6
    nodes = build_nodes(Voxels(np.full((1, 2 * half, 2 * half), FLUID, dtype=np.uint8)))
    boxes = [{"box_m": box} for box in in_corners(half, side)]
    own = {"contact_angle_deg": 20.0, "interfacial_tension_n_m": 0.05, "second": boxes}
    solver = Solver(case_from_dict(merged(FLOW, {"geometry": channel(1, 1), "two_fluid": own})), nodes=nodes)
    solver.step(3000)
    phase = solver.field("phase")
    at_wall = nodes.coordinates()[:, 1].min() == nodes.coordinates()[:, 1]
    assert phase[at_wall].min() < -0.55


def test_pores_of_a_voxel_are_narrow_and_plane_walls_are_not():
    found = [Solver(case_from_dict(FLOW | {"geometry": channel(4, height)})).local_field("narrow") for height in (1, 5)]
    assert [each.tolist() for each in found] == [[1] * 4, [0] * 20]


def test_momentum_does_not_go_to_and_fro_in_pores_of_a_voxel(tmp_path):
    """Amounts that followed its oscillation of two steps drove that on by their tension, until the run diverged."""
    noise = gaussian_filter(np.random.default_rng(2).normal(size=(12,) * 3), 1.0, mode="wrap")
    np.save(tmp_path / "rock.npy", (noise > np.quantile(noise, 0.7)).astype(np.uint8))
    case = {
        "geometry": {"file": str(tmp_path / "rock.npy"), "spacing_m": 1.0, "periodic": "xyz", "keep": "largest"},
        "lattice": {"name": "D3Q19"},
        "two_fluid": {"second_saturation": 0.4, "contact_angle_deg": 45.0, "interfacial_tension_n_m": 0.05},
    }
    case["geometry"]["options"] = {"fluid_value": 1}
    solver = Solver(case_from_dict(merged(FLOW, case)))
    found = []
    for n_steps in (400, 1600):
        solver.step(n_steps)
        before = solver.velocity_m_s()
        solver.step(1)
        found.append(0.5 * np.abs(solver.velocity_m_s() - before).max())
    assert found[1] < 1.1 * found[0]


@pytest.mark.night
def test_a_drop_at_rest_is_stirred_less_than_normals_of_the_lattice_did():
    """Differences of psi across planes lie 3e-4 beside their normals, which stirred drops of all radii by 1e-4."""
    centre = 31.5
    box = {"shape": "random_solid", "spacing_m": 1.0, "options": {"shape_zyx": [1, 64, 64], "porosity": 1.0}}
    second = {"second": [{"centre_m": [centre, centre, 0.0], "radius_m": 16.0}], "interfacial_tension_n_m": 0.01}
    flow = Solver(case_from_dict(merged(FLOW, {"geometry": box, "two_fluid": second})))
    flow.step(10_000)
    assert flow.health().max_speed * 0.1 / 0.01 < 0.6e-4


@pytest.mark.night
def test_oil_that_touches_walls_between_corners_on_few_voxels_stays():
    """Where interfaces that face each other meet, their surfaces of equal phase counted as bent ones: 0.81."""
    pressure, _ = _in_throat(Settings(backend="cpu"), 12, 20.0, in_corners(12, 6))
    assert pressure < 0.77
