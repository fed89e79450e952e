"""Stress and rate of strain as fields: exact in a channel, the same from every backend, streaming and rank."""

import numpy as np
import pytest

from muphy_lb.case.output import STRESS_NAMES
from muphy_lb.operators import RELAXATIONS
from muphy_lb.operators.viscous_stress import PAIRS
from muphy_lb.output.series import read_series
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.free_surface.cells import CELL, GAS
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.channel import DENSITY_KG_M3, SPACING_M, open_channel, periodic_channel, simulate
from tests.laws.smallest import smallest

ACCELERATION_M_S2, VISCOSITY_M2_S = 1e-3, 1e-5
DRIVEN = {"acceleration_m_s2": [ACCELERATION_M_S2, 0.0, 0.0]}
LAW = {"consistency_pa_sn": 0.01, "index": 0.8, "min_viscosity_m2_s": 1e-6, "max_viscosity_m2_s": 1e-4}


def exact_stress_pa(simulation) -> np.ndarray:
    """(n,) shear stress xy of a channel driven along x [Pa]: the force on the fluid between a node and the middle."""
    y = simulation.nodes.coordinates()[:, 1]
    return -DENSITY_KG_M3 * ACCELERATION_M_S2 * SPACING_M * (y - y.mean())


def all_of(simulation) -> np.ndarray:
    """(14, n) numbers of all fields."""
    return np.vstack([np.atleast_2d(simulation.field(name).T) for name in STRESS_NAMES])


@pytest.mark.parametrize("relaxation", RELAXATIONS)
def test_the_stress_of_a_channel_is_the_force_on_the_fluid_beyond(relaxation):
    in_space = {"name": "D3Q27"} if relaxation in ("cumulant", "central-moments") else {}
    simulation = simulate(periodic_channel(flow=DRIVEN, lattice={"collision": relaxation, **in_space}), 600)
    stress, exact = simulation.field("stress"), exact_stress_pa(simulation)
    largest = np.abs(exact).max()
    np.testing.assert_allclose(stress[:, PAIRS.index("xy")], exact, atol=2e-5 * largest)
    np.testing.assert_allclose(simulation.field("shear_stress"), np.abs(exact), atol=0.01 * largest)
    strain = simulation.field("strain_rate")
    np.testing.assert_allclose(strain, stress / (2.0 * DENSITY_KG_M3 * VISCOSITY_M2_S), rtol=1e-3, atol=1e-12)


def test_a_law_of_viscosity_gives_the_rate_of_shear_of_the_stress():
    simulation = simulate(periodic_channel(flow=DRIVEN, fluid={"power_law": LAW}), 1200)
    stress, rate = simulation.field("shear_stress"), simulation.field("shear_rate")
    np.testing.assert_allclose(stress, np.abs(exact_stress_pa(simulation)), rtol=0.01)
    np.testing.assert_allclose(stress, LAW["consistency_pa_sn"] * rate ** LAW["index"], rtol=2e-3)


def test_every_backend_and_streaming_tells_the_same_stress():
    told = {}
    for backend, streaming in (("numpy", "pull"), ("numpy", "push"), ("numpy", "aa"), ("cpu", "pull"), ("cpu", "push")):
        flow = simulate(open_channel(compute={"backend": backend, "streaming": streaming}), 25)
        before = np.array(list(flow.populations()))
        told[backend, streaming] = all_of(flow)
        assert np.array_equal(before, np.array(list(flow.populations())))
    expected = told["numpy", "pull"]
    scale = np.abs(expected).max(axis=1, keepdims=True)
    assert (scale[0] > 0.0).all() and np.array_equal(told["numpy", "aa"], expected)
    for found in told.values():
        np.testing.assert_allclose(found, expected, atol=1e-11 * scale.max(), rtol=1e-9)


def test_where_no_liquid_is_there_is_no_stress():
    simulation = simulate(smallest("free_surface"), 20)
    stress, is_empty = simulation.field("shear_stress"), simulation.model_field(CELL) == GAS
    assert is_empty.any() and (stress[is_empty] == 0.0).all() and stress[~is_empty].max() > 0.0


def test_a_probe_records_the_fields_of_its_nodes(tmp_path):
    nodes = simulate(open_channel()).nodes
    place = nodes.coordinates()[nodes.n_nodes // 2]
    node_m = (np.array(nodes.origin_m) + SPACING_M * place).tolist()
    probe = {"name": "here", "point_m": node_m, "fields": ["shear_rate", "stress"]}
    plane = {"name": "across", "plane_m": node_m, "normal": [1.0, 0.0, 0.0], "fields": ["shear_stress"]}
    simulation = Solver(open_channel(probes=[probe, plane]), SerialCommunicator())
    Run(simulation, tmp_path).execute()
    is_here = (simulation.nodes.coordinates() == place).all(axis=1)
    at_point, across = (read_series(tmp_path / f"probe_{name}.csv") for name in ("here", "across"))
    assert at_point["shear_rate_per_s"][-1] == pytest.approx(simulation.field("shear_rate")[is_here].item(), rel=1e-8)
    stress = simulation.field("stress")[is_here][0]
    assert [at_point[f"stress_{pair}_pa"][-1] for pair in PAIRS] == pytest.approx(stress.tolist(), rel=1e-8)
    of_layer = simulation.field("shear_stress")[simulation.nodes.coordinates()[:, 0] == place[0]]
    assert across["mean_shear_stress_pa"][-1] == pytest.approx(of_layer.mean(), rel=1e-8)
