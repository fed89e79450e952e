"""Dispersion of periodic flows: the coefficients are those of the same voxels by finite volumes, and messages."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLUID, SOLID, Voxels
from muphy_lb.measure.permeability_observer import rest_of_change
from muphy_lb.output.series import read_series
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.dispersion.observers import Spreading
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.channel import PERIODIC, changed, open_channel, simulate

DRIVEN = {"acceleration_m_s2": [0.02, 0.0, 0.0]}
DIFFUSIVITIES_M2_S = [1e-5, 2e-6]
CPU = {"backend": "cpu"}


def case(shape="channel", options=None, **sections):
    geometry = {"shape": shape, "options": options or {"length": 4, "height": 6, "width": 1}}
    walls = PERIODIC["walls"] if shape == "channel" else None
    dispersion = {"diffusivities_m2_s": DIFFUSIVITIES_M2_S} | sections.pop("dispersion", {})
    compute = CPU | sections.pop("compute", {})
    tables = changed(PERIODIC, geometry=geometry, walls=walls, dispersion=dispersion, compute=compute, **sections)
    return case_from_dict({key: table for key, table in tables.items() if table is not None})


def coefficients(simulation, axis=0):
    """(D_L / D of each diffusivity, mean velocity [voxels a step])."""
    return Spreading(simulation, simulation.physics[0].scalars, axis).coefficients()


def test_longer_steps_in_a_frozen_flow_give_the_same_coefficients(tmp_path):
    """But for the share 4 u^2 by which the scheme diffuses less along a flow, u in voxels a step of the scalars."""
    slow, found = {"acceleration_m_s2": [2e-4, 0.0, 0.0]}, []
    settled = {"steps": 40_000, "steady_tolerance": 1e-5, "steady_watch": ["dispersion"], "steady_interval_steps": 210}
    for more in ({}, {"frozen_after_s": 10.0, "frozen_step_s": 0.06}):
        small = {"diffusivities_m2_s": [2e-6, 1e-6]}
        simulation = Solver(case(dispersion=small, flow=slow, run=settled | more), SerialCommunicator())
        reason, summary = Run(simulation, tmp_path).execute()
        assert reason == "steady"
        squared = np.mean((simulation.velocity_m_s()[:, 0] / simulation.units.speed_m_s * simulation.stride) ** 2)
        rows = summary["dispersion"]["coefficients"]
        found.append(
            [
                summary["dispersion"]["velocity_m_s"],
                *(row["dispersion_over_diffusivity"] + 4.0 * squared for row in rows),
            ]
        )
    assert simulation.stride == 6
    assert found[1] == pytest.approx(found[0], rel=2e-4)


def test_pores_that_lead_nowhere_do_not_count():
    """Their fluid stays behind, and would make the coefficients grow for ever."""
    flags, found = np.full((3, 14, 8), SOLID, dtype=np.uint8), []
    flags[1, 1:7] = FLUID
    for more in (False, True):
        flags[1, 9:12, 2:5] = FLUID if more else SOLID
        nodes = build_nodes(Voxels(flags, periodic=(True, True, True)))
        given = case("sphere_pack", {"size": 4, "radius": 1.0}, flow=DRIVEN, lattice={"name": "D3Q19"})
        simulation = Solver(given, SerialCommunicator(), nodes)
        simulation.advance(3000)
        found.append(coefficients(simulation))
    assert np.count_nonzero(~Spreading(simulation, simulation.physics[0].scalars, 0).connected) == 9
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-9) and found[1][1] == pytest.approx(found[0][1], rel=1e-9)


def by_finite_volumes(simulation, diffusivity):
    """D_L / D along x of central differences on the voxels, with the velocities of the nodes: that of the mean of c at
    both sides of a face, c = x + b."""
    nodes, shape = simulation.nodes, np.array(simulation.nodes.shape[::-1])
    at, velocity = nodes.coordinates(), simulation.velocity_m_s()[:, 0] / simulation.units.speed_m_s
    number = {tuple(place): k for k, place in enumerate(at)}
    matrix, gain, faces = np.zeros((len(at), len(at))), np.zeros(len(at)), []
    for place, k in number.items():
        for axis in range(3):
            step = np.eye(3, dtype=int)[axis]
            other = number.get(tuple((np.array(place) + step) % shape))
            if other is None or other == k:
                continue
            ahead = float(axis == 0)
            flow = 0.5 * (velocity[k] + velocity[other]) * ahead
            across = np.zeros(len(at))
            across[k], across[other] = 0.5 * flow + diffusivity, 0.5 * flow - diffusivity
            matrix[k] -= across
            matrix[other] += across
            gain[k] -= (0.5 * flow - diffusivity) * ahead  # of the slope, x - x_k at the face
            gain[other] -= (0.5 * flow + diffusivity) * ahead
            faces += [(across, diffusivity)] if ahead else []
    rest = np.linalg.lstsq(matrix, gain.mean() - gain, rcond=None)[0]
    rest -= rest.mean()
    return sum(d - across @ rest for across, d in faces) / len(at) / diffusivity


def test_the_coefficients_between_plates_are_those_of_finite_volumes():
    """But for the 4 u^2, u the mean velocity, by which the scheme diffuses less along a flow: to the last digits."""
    simulation = simulate(case(flow=DRIVEN, lattice={"equilibrium": "stokes"}), 4000)
    told, speed = coefficients(simulation)
    assert told[1] > 2.0
    for value, scalar in zip(told, simulation.physics[0].scalars, strict=True):
        expected = by_finite_volumes(simulation, scalar.diffusivity) - 4.0 * speed**2
        assert value == pytest.approx(expected, rel=1e-9)


def test_without_a_flow_obstacles_hinder_diffusion_as_finite_volumes_say():
    options = {"size": 8, "cells": 1, "solid_fraction": 0.2}
    simulation = simulate(case("cylinder_array", options), 4000)
    told, speed = coefficients(simulation)
    assert speed == pytest.approx(0.0, abs=1e-15) and told[0] < 0.9
    assert told[0] == pytest.approx(
        by_finite_volumes(simulation, simulation.physics[0].scalars[0].diffusivity), rel=1e-6
    )
    assert told[0] == pytest.approx(told[1], rel=1e-4)


def test_a_run_tells_the_coefficients_and_what_they_may_still_change(tmp_path):
    run = {"steps": 3000, "steady_tolerance": 1e-4, "steady_watch": ["dispersion"]}
    one = case(flow=DRIVEN, run=run, dispersion={"length_m": 6e-3}, output={"report": True, "series_every_steps": 100})
    _, summary = Run(Solver(one, SerialCommunicator()), tmp_path).execute()
    record, table = summary["dispersion"], read_series(tmp_path / "dispersion.csv")
    last = record["coefficients"][1]
    assert last["dispersion_over_diffusivity"] == table["closure_2_dispersion_over_diffusivity"][-1]
    assert last["peclet"] == pytest.approx(record["velocity_m_s"] * 6e-3 / 2e-6)
    assert 0.0 < last["uncertainty_m2_s"] < 0.05 * last["dispersion_m2_s"]
    assert "Dispersion along x" in (tmp_path / "report.html").read_text()


def test_a_flow_that_changes_in_time_is_warned_of():
    (physics,) = Solver(
        case(flow=DRIVEN | {"waveform": {"period_s": 9.0, "sine": [1.0]}}), SerialCommunicator()
    ).physics
    assert physics.warnings()[-1].startswith("flow.waveform changes the flow in time, and with it the coefficients")


def test_a_last_look_that_comes_early_tells_nothing_of_the_change_to_come(tmp_path):
    one = case(flow=DRIVEN, run={"steps": 31}, output={"series_every_steps": 10})
    _, summary = Run(Solver(one, SerialCommunicator()), tmp_path).execute()
    ratio = read_series(tmp_path / "dispersion.csv")["closure_1_dispersion_over_diffusivity"]
    before, change = np.diff(ratio[:3])
    told = summary["dispersion"]["coefficients"][0]
    assert told["uncertainty_m2_s"] == pytest.approx(rest_of_change(before, change) * told["diffusivity_m2_s"])


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: case(dispersion={"axis": "y"}), "along which the box is not periodic; axes that are: x"),
        (lambda: case(dispersion={"diffusivities_m2_s": []}), "dispersion.diffusivities_m2_s"),
        (lambda: case(compute={"precision": "fp16"}), "allowed: 'fp32', 'fp64'"),
        (lambda: open_channel(dispersion={"diffusivities_m2_s": [1e-6]}), "the case has openings"),
    ],
)
def test_what_has_no_coefficient_is_refused(made, told):
    with pytest.raises(InputError) as refusal:
        simulate(made())
    assert told in str(refusal.value)
