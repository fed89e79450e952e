"""Recursive-regularised at interpolated walls with a relaxation time close to 1/2: finite, and said in the log; and
where stairs of voxels hold a flow."""

import re

import numpy as np
import pytest

from muphy_lb.base.errors import DivergedError
from muphy_lb.case.case import case_from_dict
from muphy_lb.operators import RECURSIVE_REGULARISED, RECURSIVE_REGULARISED_NEAR_WALLS, WALL_RULES, wall_coefficients
from muphy_lb.setup import boundaries, collision
from muphy_lb.setup.advice.stability import SHARE, share_of_rule, told, wants_other_moments
from muphy_lb.validation.case import Settings
from muphy_lb.validation.flows import forced_flow, start_from_velocity
from muphy_lb.validation.free_surface.films import Plates

DIRECTION, RADIUS, SPEED, N_STEPS = (2, 1, 0), 4.3, 0.1, 1500
WIDE = 8.6  # in which central-linear needs no blend
INTERPOLATED = ("bouzidi", "central-linear")


def oblique_pipe(walls, tau, radius=RADIUS):
    """A pipe in which all of the fluid moves with SPEED, disturbed by a tenth of it."""
    along = np.array(DIRECTION) / np.linalg.norm(DIRECTION)
    geometry = {"shape": "tilted_pipe", "options": {"radius": radius, "direction": list(DIRECTION)}}
    force = 4.0 * (tau - 0.5) / 3.0 * SPEED / radius**2 * along
    lattice = {"collision": "recursive-regularised", "walls": walls}
    pipe = forced_flow(geometry, tau, force, settings=Settings(backend="cpu"), tables={"lattice": lattice})
    noise = np.random.default_rng(1).uniform(-1.0, 1.0, (pipe.nodes.n_nodes, 3))
    start_from_velocity(pipe, SPEED * (along + 0.1 * noise))
    return pipe


def section(walls="bouzidi", **changes):
    """A section [lattice]."""
    lattice = {"collision": "recursive-regularised", "walls": walls, "relaxation_time": 0.502} | changes
    table = {
        "geometry": {"shape": "pipe", "spacing_m": 1.0},
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 1.0},
        "run": {"steps": 1},
    }
    return case_from_dict(table | {"lattice": lattice}).lattice


@pytest.mark.parametrize("tau", [0.502, 0.506])
@pytest.mark.parametrize("walls", INTERPOLATED)
def test_the_flow_in_an_oblique_pipe_stays_finite_and_keeps_its_mass(walls, tau):
    pipe = oblique_pipe(walls, tau)
    before = pipe.engine.moments()[0].sum()
    pipe.step(N_STEPS)
    assert np.abs(pipe.velocity_m_s()).max() < 1.5 * SPEED
    assert pipe.engine.moments()[0].sum() == pytest.approx(before, rel=1e-6)


@pytest.mark.parametrize("walls", INTERPOLATED)
def test_with_the_moments_of_other_flows_it_diverges(walls, monkeypatch):
    monkeypatch.setattr(collision, "wants_other_moments", lambda *_: False)
    with pytest.raises(DivergedError):
        oblique_pipe(walls, 0.502, WIDE).step(N_STEPS)


def test_in_a_narrow_pipe_central_linear_needs_a_blend_with_half_way(monkeypatch):
    monkeypatch.setattr(boundaries, "share_of_rule", lambda *_: 1.0)
    with pytest.raises(DivergedError):
        oblique_pipe("central-linear", 0.502).step(N_STEPS)


def test_a_blend_with_half_way_alone_does_not_help(monkeypatch):
    monkeypatch.setattr(collision, "wants_other_moments", lambda *_: False)
    monkeypatch.setattr(boundaries, "share_of_rule", lambda *_: 0.25)
    with pytest.raises(DivergedError):
        oblique_pipe("bouzidi", 0.502, WIDE).step(N_STEPS)


@pytest.mark.parametrize(
    "changes",
    [{"walls": "half-way"}, {"collision": "mrt"}, {"name": "D2Q9"}, {"relaxation_time": 0.51}],
    ids=lambda changes: "-".join(changes),
)
def test_other_flows_are_left_alone(changes):
    other = section(**changes)
    tau = other.relaxation_time
    assert not wants_other_moments(other, tau, None) and not list(told(other, tau, None))
    assert share_of_rule(other, tau, None) == 1.0


@pytest.mark.parametrize("walls", INTERPOLATED)
def test_slow_flows_keep_their_moments_and_rules(walls):
    of_pipe = section(walls)
    slow, fast = ((share_of_rule(of_pipe, 0.502, re), wants_other_moments(of_pipe, 0.502, re)) for re in (9.0, 11.0))
    assert slow == (1.0, False) and fast == (1.0 if walls == "bouzidi" else SHARE, True)


@pytest.mark.parametrize("walls", INTERPOLATED)
def test_the_log_names_the_rule_the_relaxation_time_and_what_is_changed(walls):
    (text,) = (text for text in oblique_pipe(walls, 0.502).numerics.warnings if "oblique walls" in text)
    blend = ", and that walls return 0.1 of what half-way ones would and 0.9 of their own rule"
    assert re.search(f"walls = '{walls}' diverges .* at a relaxation time of 0.502: .* third and fourth order", text)
    assert (blend in text) == (walls == "central-linear") and "'mrt', or 'cumulant' on 'D3Q27', needs neither" in text


def test_the_collision_is_chosen_by_walls_and_relaxation_time():
    pipes = [oblique_pipe("bouzidi", tau).fluid.relaxation for tau in (0.502, 0.51)]
    assert pipes == [RECURSIVE_REGULARISED_NEAR_WALLS, RECURSIVE_REGULARISED]


@pytest.mark.parametrize("rule", WALL_RULES)
def test_a_share_of_a_rule_leaves_the_rest_to_half_way_bounce_back(rule):
    distance, momentum = np.array([0.1, 0.5, 0.9]), np.array([1.0, -2.0, 3.0])
    whole, half_way = (wall_coefficients(name, distance, momentum) for name in (rule, "half-way"))
    blended = wall_coefficients(rule, distance, momentum, SHARE)
    assert np.allclose(blended, SHARE * whole + (1.0 - SHARE) * half_way, rtol=1e-15)
    assert np.array_equal(wall_coefficients(rule, distance, momentum, 1.0), whole)


def test_stairs_of_voxels_hold_a_flow_before_their_plane():
    """By a sixteenth of a voxel along (2, -1), with half-way walls and trt: films down such plates count from there."""
    assert Plates(1, 2).no_slip(Settings(backend="cpu")) == pytest.approx(1 / 16, abs=2e-3)
