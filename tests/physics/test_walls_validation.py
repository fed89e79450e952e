"""The cases with walls anywhere between nodes fail if the solver is wrong."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest

from muphy_lb.validation import flows, limits
from muphy_lb.validation.case import Settings, absolute, relative
from muphy_lb.validation.cases import CASES
from muphy_lb.validation.flow import cylinders
from muphy_lb.validation.flow.channels import ChannelWall, difference
from muphy_lb.validation.flow.conservation import drift_around_a_turning_cylinder
from muphy_lb.validation.flow.couette import SMALL, annulus_flow
from muphy_lb.validation.flow.cylinders import (
    BALANCE,
    EXACT,
    TOELKE_FRACTION,
    TOELKE_LATTICE,
    Seepage,
    array_rows,
    cell,
    toelke_method,
)
from muphy_lb.validation.flow.permeability import SPREAD, pack_permeability
from muphy_lb.validation.flow.pipes import FILE, NOMINAL_RADIUS, pipe_errors, wall_radius
from muphy_lb.validation.flow.spheres import published

QUICK = Settings(quick=True)
MESH = 1024


def seepage(theta_factor, k_factor):
    """A flow whose solid fraction and permeability are off by given factors."""
    return Seepage(EXACT * k_factor, TOELKE_FRACTION * theta_factor, 1.0, 1.0)


def test_walls_that_push_cannot_do_are_left_out_by_name():
    push = Settings(streaming="push")
    reason = "bouzidi, central-linear walls: need pull or aa, streaming is push"
    assert limits.possible_rules(cylinders.RULES, push) == ("half-way",)
    assert limits.left_out_rules(cylinders.RULES, push) == (reason,)
    for streaming in ("pull", "aa"):
        assert limits.left_out_rules(cylinders.RULES, Settings(streaming=streaming)) == ()


def test_single_precision_keeps_the_mass_of_a_flow_that_repeats():
    """Its roundings repeat with it: summed in single precision, they came to 1.4e-7."""
    settings = replace(QUICK, precision="fp32")
    assert drift_around_a_turning_cylinder("central-linear", 20_000, settings) < 2e-8


@pytest.mark.parametrize("name", ["tilted-pipe", "taylor-couette"])
def test_case_passes_in_place(name):
    outcome = CASES[name](replace(QUICK, streaming="aa"))
    assert outcome.rows and outcome.passed and not outcome.left_out, str(outcome)


def test_a_case_of_interpolated_walls_alone_is_skipped_with_push():
    outcome = CASES["schaefer-turek"](replace(QUICK, streaming="push"))
    assert not outcome.rows and "need pull" in outcome.skipped


def test_the_pipe_of_the_file_is_a_little_narrower_than_its_nominal_radius(data_dir):
    assert 0.99 < wall_radius(data_dir / FILE) / NOMINAL_RADIUS < 0.999


def test_force_balance_sees_a_flow_that_is_not_steady(monkeypatch):
    monkeypatch.setattr(
        cylinders, "settled", lambda simulation, measure, length: flows.over_two_steps(simulation, measure)
    )
    assert not relative("force", 1.0, cell(20, "half-way").balance, BALANCE["fp64"]).passed


def test_permeability_of_the_cell_sees_a_wall_half_way():
    assert not relative("k", EXACT, cell(20, "half-way").k, cylinders.K_TOLERANCE["fp64"]).passed


def test_rates_of_toelke_are_those_of_lambda_three_sixteenths():
    rates = toelke_method(0.01)["rates"]
    odd, even = (1.0 / rates[name] - 0.5 for name in ("energy_flux", "bulk"))
    assert odd * even == pytest.approx(3 / 16)


def test_a_permeability_worse_than_toelkes_fails():
    theirs = TOELKE_LATTICE[MESH][1]
    passed = [
        array_rows(MESH, seepage(1.0, 1.0), seepage(1.0, 1.0 + factor * theirs))[-1].passed
        for factor in (0.9, 1.1, nan)
    ]
    assert passed == [True, False, False]


def test_bounce_back_is_shown_beside_toelkes_without_a_verdict():
    assert [row.verdict for row in array_rows(MESH, seepage(1.0, 2.0), None)] == ["shown", "shown"]


@pytest.mark.parametrize(
    "wall", [ChannelWall(magic=0.19), ChannelWall("central-linear", 0.25, 0.75 * 0.26**2), ChannelWall("bouzidi", 0.25)]
)
def test_only_the_right_lambda_is_exact(wall):
    assert np.abs(difference(10, wall, 1 / 6)).max() > 1e-5


def test_the_slip_of_central_linear_walls_is_not_that_of_bouzidis():
    slip = difference(10, ChannelWall("bouzidi", 0.25), 1.0).mean()
    assert not relative("slip", ChannelWall("central-linear", 0.25).slip(10, 1.0), slip, 0.1).passed


def test_a_tilted_pipe_tells_half_way_walls_from_interpolated_ones():
    half_way, interpolated = (pipe_errors(4.3, rule)[0] for rule in ("half-way", "bouzidi"))
    assert half_way > 3.0 * interpolated


def test_a_tilted_pipe_tells_a_wall_rule_that_depends_on_the_viscosity():
    thin, thick = (pipe_errors(4.3, "bouzidi", nu)[0] for nu in (1 / 6, 1.0))
    assert not relative("L2", thin, thick, 0.1).passed


def test_torque_sees_walls_half_way():
    flow = annulus_flow("half-way")
    assert not absolute("torque", 0.0, flow.outer - 1.0, SMALL["central-linear"]).passed


def test_permeability_of_a_block_sees_one_relaxation_time():
    thin, thick = (pack_permeability(tau, "half-way", "bgk", QUICK) for tau in (1.0, 1.5))
    assert thick / thin - 1.0 > 100.0 * SPREAD["fp64"]


@pytest.mark.parametrize(("lattice", "fraction"), [("face", 0.125), ("body", 0.6802)])
def test_no_verdict_hangs_on_a_reference_that_nobody_could_read(lattice, fraction):
    assert published(lattice, fraction) is None


def test_two_steps_average_out_an_oscillation_of_period_two():
    class Swinging:
        value = 1.5

        def step(self):
            self.value = 2.0 - self.value

    swinging = Swinging()
    assert [float(flows.over_two_steps(swinging, lambda: swinging.value)) for _ in range(2)] == [1.0, 1.0]
