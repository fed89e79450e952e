"""What viscosity dissipates is what drives the flow; measuring it changes no bit of the flow."""

import numpy as np
import pytest

from muphy_lb.output.series import read_series
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.dissipation.observers import FlowPower
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings
from muphy_lb.validation.dissipation.table import driven_pipe
from tests.channel import SPACING_M, open_channel, periodic_channel, simulate

DRIVEN = {"acceleration_m_s2": [1e-3, 0.0, 0.0]}
LAW = {"consistency_pa_sn": 0.01, "index": 0.8, "min_viscosity_m2_s": 1e-6, "max_viscosity_m2_s": 1e-4}


def test_a_pipe_of_ten_voxels_dissipates_the_power_of_its_force_within_a_percent():
    found = driven_pipe(10.0, "central-linear", Settings(backend="numpy"))
    assert found.of_force == pytest.approx(1.0, abs=0.01)


def across(height=6):
    """Distances of the nodes from the middle of the channel [voxels]."""
    return np.arange(height) + 0.5 - 0.5 * height


@pytest.mark.parametrize("streaming", ["pull", "push", "aa"])
def test_a_channel_dissipates_the_sum_of_its_exact_stresses(streaming):
    case = periodic_channel(flow=DRIVEN, dissipation={}, lattice={"collision": "trt"}, compute={"streaming": streaming})
    dissipated, pressure, force = FlowPower(simulate(case, 1500)).numbers()
    y = across()
    # Poiseuille flow of a force 1 and a viscosity 1, at the nodes; the sum over six squares is not their integral
    assert dissipated / force == pytest.approx((y**2).sum() / (0.5 * (9.0 - y**2)).sum(), rel=1e-5)
    assert pressure == 0.0


def test_a_node_dissipates_its_stress_times_its_rate_of_shear_whatever_sets_the_viscosity():
    simulation = simulate(periodic_channel(flow=DRIVEN, fluid={"power_law": LAW}, dissipation={}), 1200)
    stress_pa = 1000.0 * 1e-3 * SPACING_M * np.abs(across())
    expected_w_m3 = stress_pa * (stress_pa / LAW["consistency_pa_sn"]) ** (1.0 / LAW["index"])
    found = simulation.field("dissipation")[simulation.nodes.coordinates()[:, 0] == 3]
    np.testing.assert_allclose(found, expected_w_m3, rtol=0.02)


def test_a_channel_with_openings_dissipates_the_power_of_its_pressures():
    """What moves in and what moves out carry the same energy, in two parabolas. The sum over the nodes is 1 - 1 / H^2
    of the integral, and the flow rate 1 + 1 / (2 H^2) of that of the gradient."""
    height = 10
    case = open_channel(
        geometry={"options": {"length": 30, "height": height, "width": 1, "ends": "open"}},
        inlet={"velocity_m_s": 2e-3, "profile": "parabolic"},
        walls=[],
        dissipation={},
        lattice={"collision": "trt", "equilibrium": "incompressible"},
    )
    dissipated, pressure, _ = FlowPower(simulate(case, 1200)).numbers()
    assert dissipated / pressure == pytest.approx((1.0 - 1.0 / height**2) / (1.0 + 0.5 / height**2), abs=0.005)


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_it_changes_no_bit_of_the_flow(precision):
    plain, watched = (
        simulate(open_channel(compute={"precision": precision}, **extra), 40) for extra in ({}, {"dissipation": {}})
    )
    rows = [np.array(list(each.populations())) for each in (plain, watched)]
    assert np.array_equal(*rows) and np.abs(rows[0]).max() > 0.0


@pytest.mark.parametrize("fluid", [{}, {"power_law": LAW}])
def test_compiled_code_stores_what_the_specification_says(fluid):
    fields = [
        simulate(open_channel(fluid=fluid, dissipation={}, compute={"backend": backend}), 25).field("dissipation")
        for backend in ("numpy", "cpu")
    ]
    assert fields[0].min() > 0.0
    np.testing.assert_allclose(fields[1], fields[0], rtol=1e-8, atol=1e-12 * fields[0].max())


def beating(n_steps):
    """A channel whose inflow beats, with checkpoints."""
    wave = {"period_s": 0.2, "mean": 1.0, "sine": [0.5]}
    return open_channel(
        inlet={"velocity_m_s": 2e-3, "waveform": wave},
        dissipation={},
        run={"steps": n_steps},
        output={"checkpoint_every_steps": 20, "report": False},
    )


def test_a_resumed_run_has_the_series_and_the_means_of_one_that_was_not_interrupted(tmp_path):
    def run(name, n_steps, resume=False):
        simulation = Solver(beating(n_steps), SerialCommunicator())
        return Run(simulation, tmp_path / name, resume=resume).execute()[1]

    whole = run("whole", 60)
    run("parts", 40)
    assert run("parts", 60, resume=True)["dissipation"] == whole["dissipation"]
    assert whole["dissipation"]["averaged_over_s"] == 0.2
    files = [read_series(tmp_path / name / "dissipation.csv") for name in ("whole", "parts")]
    assert all(np.array_equal(files[0][key], files[1][key]) for key in files[0])
