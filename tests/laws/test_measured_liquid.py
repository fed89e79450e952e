"""The liquid as it is measured where the flow is: that of all fields on the host, on any ranks."""

from pathlib import Path

import numpy as np
import pytest

from muphy_lb.case.case import case_from_dict
from muphy_lb.measure.flow_series import WallSeries
from muphy_lb.measure.node_sums import Measure
from muphy_lb.measure.probes import ProbeSeries, SegmentValues
from muphy_lb.operators import Operator
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.free_surface.cells import CELL, FLUID, MASS, is_liquid
from muphy_lb.physics.free_surface.filling import fill, wall_faces
from muphy_lb.physics.free_surface.observers import SurfaceSeries
from muphy_lb.run.changes import repartition
from muphy_lb.run.solver import Solver
from tests.laws.test_random_tanks import random_tank

SEED = 271130005
BACKENDS = ("numpy", "cpu", pytest.param("cuda", marks=pytest.mark.gpu))


def splash(backend: str = "cpu", communicator=None) -> Solver:
    """A tank with falling liquid, after some steps."""
    tables, _ = random_tank(SEED)
    tables["compute"] |= {"backend": backend}
    simulation = Solver(case_from_dict(tables), communicator or SerialCommunicator())
    simulation.step(6)
    return simulation


def series(simulation: Solver, folder) -> SurfaceSeries:
    """The series of a flow."""
    (physics,) = simulation.physics
    return next(each for each in physics.observers(simulation, Path(folder), None) if isinstance(each, SurfaceSeries))


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_measured_is_that_of_the_fields(backend, tmp_path):
    simulation = splash(backend)
    row = dict(zip((observer := series(simulation, tmp_path)).columns(), observer.numbers(), strict=True))
    units, nodes, cell = simulation.units, simulation.nodes, simulation.model_field(CELL)
    density, held = (values.astype(np.float64) for values in (simulation.density(), simulation.model_field(MASS)))
    mass = np.where(is_liquid(cell), density, 0.0) + held
    velocity, place = simulation.velocity_m_s().astype(np.float64), nodes.coordinates()
    square = (units.velocity_to_lattice(velocity) ** 2).sum(axis=1)
    wet = place[(cell & FLUID) != 0]
    low_m, high_m = (
        np.array(nodes.origin_m) + nodes.spacing_m * ends for ends in (wet.min(axis=0) - 0.5, wet.max(axis=0) + 0.5)
    )
    expected = {
        "volume_m3": mass.sum() * units.spacing_m**3,
        "kinetic_energy_j": 0.5 * units.energy_j * (mass @ square),
        "potential_energy_j": -units.energy_j * (mass @ (place @ simulation.present_force)),
        **{f"{axis}_min_m": value for axis, value in zip("xyz", low_m, strict=True)},
        **{f"{axis}_max_m": value for axis, value in zip("xyz", high_m, strict=True)},
        "wetted_area_m2": units.spacing_m**2 * (wall_faces(nodes) @ fill(simulation).astype(np.float64)),
        "max_velocity_m_s": np.linalg.norm(velocity[is_liquid(cell)], axis=1).max(initial=0.0),
    }
    assert expected["kinetic_energy_j"] > 0.0
    assert {name: row[name] for name in expected} == pytest.approx(expected, rel=3e-6, abs=1e-12)


def numbers_of(communicator, folder) -> np.ndarray | None:
    """Rows of the series, before and after the nodes have got other owners, on rank 0."""
    simulation = splash(communicator=communicator)
    observer, found = series(simulation, folder), []
    for _ in range(2):
        found.append(observer.numbers())
        n_nodes = simulation.header.n_nodes
        owner = (np.arange(n_nodes) * communicator.size // n_nodes)[::-1].astype(np.int32)
        repartition(simulation, owner if communicator.rank == 0 else None)
        simulation.step(1)
    return None if communicator.rank else np.array(found, dtype=np.float64)


def test_two_ranks_measure_what_one_does(tmp_path, on_ranks):
    alone = numbers_of(SerialCommunicator(), tmp_path)
    assert alone.tobytes() == on_ranks(2, numbers_of, tmp_path).tobytes()


def _broken(n, moments, lattice, parameters):
    return np.where(n == 1, np.inf, 1.0)[None], np.asarray(n, dtype=np.float64)[None]


def _broken_node(lattice, precision, jit, at):
    def measure(n, deviation, ux, uy, uz, parameters, found):
        found[0] = np.inf if n == 1 else 1.0
        found[1] = n

    return jit(measure)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sum_with_a_number_that_is_not_finite_is_none(backend):
    simulation = splash(backend)
    operator = Operator("broken", _broken, _broken_node)
    sums, largest = simulation.node_sums(Measure(operator, {}, 1, 1)).read()
    assert np.isnan(sums).all()
    assert largest == [simulation.header.n_nodes - 1]


def test_probes_count_the_liquid_and_not_the_gas(tmp_path):
    """A layer that moves as a whole below gas: flow rate, speed and mean pressure of a plane, a point in either."""
    level, speed_m_s, size = 6.3, 0.02, 1e-3
    tables = {
        "geometry": {
            "shape": "tank",
            "spacing_m": size,
            "periodic": "x",
            "options": {"length": 12, "height": 14},
        },
        "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
        "initial": {"velocity_m_s": [speed_m_s, 0.0, 0.0]},
        "free_surface": {
            "gas_pressure_pa": 3.0,
            "liquid": [{"box_m": [[-1.0, -1.0, -1.0], [1.0, (level - 0.5) * size, 1.0]]}],
        },
        "lattice": {"name": "D2Q9", "time_step_s": 1e-3},
        "flow": {"reference_pressure_pa": 3.0},
        "probes": [
            {"name": "plane", "plane_m": [5.2 * size, 0.0, 0.0], "normal": [1.0, 0.0, 0.0]},
            {"name": "behind", "plane_m": [7.9 * size, 0.0, 0.0], "normal": [1.0, 0.0, 0.0]},
            {"name": "wet", "point_m": [5.2 * size, 2.3 * size, 0.0]},
            {"name": "dry", "point_m": [5.2 * size, 9.1 * size, 0.0]},
        ],
        "segments": [{"name": "all", "proximal": "plane", "distal": "behind"}],
        "run": {"steps": 1},
        "compute": {"backend": "numpy", "precision": "fp64"},
    }
    simulation = Solver(case_from_dict(tables))
    plane, _, wet, dry = (each.numbers() for each in ProbeSeries.create(simulation, tmp_path, None))
    flow_rate_m3_s = level * size**2 * speed_m_s
    assert plane == pytest.approx([flow_rate_m3_s, 3.0, speed_m_s, speed_m_s], rel=1e-9)
    assert wet == pytest.approx([speed_m_s, 0.0, 0.0, 3.0], rel=1e-9) and np.isnan(dry).all()
    assert SegmentValues(simulation).numbers()[0] == pytest.approx([3.0, 3.0, flow_rate_m3_s], rel=1e-9)


@pytest.mark.parametrize("tension_n_m", [0.0, 0.03])
def test_forces_on_walls_tell_that_the_pull_of_the_surface_is_not_among_them(tension_n_m, tmp_path):
    tables = {
        "geometry": {"shape": "cavity", "spacing_m": 1e-3, "options": {"size": 8}},
        "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
        "free_surface": {
            "surface_tension_n_m": tension_n_m,
            "liquid": [{"box_m": [[-1.0, -1.0, -1.0], [1.0, 4e-3, 1.0]]}],
        },
        "lattice": {"name": "D2Q9", "time_step_s": 1e-3},
        "run": {"steps": 1},
        "compute": {"backend": "numpy"},
    }
    (walls,) = WallSeries.create(Solver(case_from_dict(tables)), tmp_path, None)
    lacking = "forces on walls are without the pull of the surface along the lines where it meets them"
    assert walls.lines({"walls": {}}) == [lacking] * (tension_n_m > 0.0)
