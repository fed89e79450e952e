"""Observables of particles agree with numbers by hand and with exact results of random walks."""

import numpy as np
import pytest

from muphy_lb.physics.particles.measures import (
    BOLTZMANN_J_K,
    chain_positions,
    crossings,
    end_to_end_vector,
    green_kubo,
    inverse_hydrodynamic_radius,
    mean_square_displacement,
    radius_of_gyration,
    temperature,
    velocity_autocorrelation,
)

ROD = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]])
SIGMAS = 5.0  # random results may be this many standard errors off


def test_temperature_of_two_particles_by_hand_without_drift_less_the_degrees_of_freedom_of_the_centre_of_mass():
    velocity = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])  # m v^2: 2 * 5 + 4 * 9 = 46, six degrees of freedom
    assert temperature(velocity, [2.0, 4.0]) == pytest.approx(46.0 / 6.0 / BOLTZMANN_J_K)
    drifting = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]) + [3.0, -1.0, 2.0]
    assert temperature(drifting, 3.0, 2, without_drift=True) == pytest.approx(6.0 / 2.0 / BOLTZMANN_J_K)


@pytest.mark.parametrize(("n", "without_drift"), [(0, False), (1, True)])
def test_too_few_particles_have_no_temperature(n, without_drift):
    with pytest.raises(ValueError, match="a temperature needs"):
        temperature(np.ones((n, 3)), 1.0, without_drift=without_drift)


def test_displacements_are_squared_and_averaged_at_every_time():
    origin = np.zeros((2, 3))
    moved = np.array([[[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], [[3.0, 4.0, 0.0], [0.0, 0.0, 1.0]]])
    assert mean_square_displacement(moved, origin).tolist() == [2.5, 13.0]
    assert mean_square_displacement(moved[0], origin) == 2.5


def test_a_random_walk_spreads_by_one_square_step_a_step():
    n = 4000
    step = np.random.default_rng(1).choice([-1.0, 1.0], (50, n, 3))
    spread = mean_square_displacement(np.cumsum(step, axis=0), np.zeros((n, 3)))
    expected = 3.0 * np.arange(1, 51)
    assert np.all(np.abs(spread / expected - 1.0) < SIGMAS * np.sqrt(2.0 / (3 * n)))  # chi-square of 3 n squares


def test_chains_are_found_by_their_ids():
    position = np.arange(12.0).reshape(4, 3)
    chain = chain_positions(position, np.array([7, 3, 9, 5]), np.array([[3, 5], [9, 7]]))
    assert np.array_equal(chain, position[[[1, 3], [2, 0]]])


@pytest.mark.parametrize("ids", [[1, 2], []])
def test_a_bead_that_is_not_there_is_named(ids):
    with pytest.raises(ValueError, match="bead 8 "):
        chain_positions(np.zeros((len(ids), 3)), np.array(ids, dtype=int), np.array([[8, 1]]))


def test_a_rod_of_three_beads_by_hand():
    assert radius_of_gyration(ROD) == pytest.approx([np.sqrt(2.0 / 3.0)])
    assert end_to_end_vector(ROD).tolist() == [[2.0, 0.0, 0.0]]
    assert inverse_hydrodynamic_radius(ROD) == pytest.approx([2.0 * (1.0 + 1.0 + 0.5) / 9.0])


def test_ideal_chains_have_the_exact_size():
    n_chains, length = 20000, 10
    bond = np.random.default_rng(2).normal(size=(n_chains, length - 1, 3))  # <b^2> = 3
    chain = np.concatenate([np.zeros((n_chains, 1, 3)), np.cumsum(bond, axis=1)], axis=1)
    end = np.sum(end_to_end_vector(chain) ** 2, axis=1)
    gyration = radius_of_gyration(chain) ** 2
    inverse = inverse_hydrodynamic_radius(chain)
    apart = np.arange(1, length)
    # between beads s bonds apart: <1/r> = sqrt(2 / pi) / sigma of a normal vector whose components have variance s
    exact_inverse = 2.0 * np.sum((length - apart) * np.sqrt(2.0 / (np.pi * apart))) / length**2
    exact = {3.0 * (length - 1): end, 3.0 * (length**2 - 1) / (6.0 * length): gyration, exact_inverse: inverse}
    for value, samples in exact.items():
        assert abs(samples.mean() - value) < SIGMAS * samples.std() / np.sqrt(n_chains)


def test_crossings_count_both_directions():
    before = np.array([[-1.0, 0.0, 0.0], [-0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [0.2, 0.0, 0.0]])
    after = np.array([[1.0, 0.0, 0.0], [-0.1, 0.0, 0.0], [-0.5, 0.0, 0.0], [0.3, 0.0, 0.0]])
    assert crossings(before, after, (0, 0, 0), (2, 0, 0)) == (1, 1)
    assert crossings(before, after, (0, 0, 0), (-1, 0, 0)) == (1, 1)


def test_over_many_samples_none_is_counted_twice_or_missed():
    path = np.array([-1.0, 0.0, 0.0, 1.0, 0.0, -1.0])  # into the plane, through it, back
    position = np.zeros((6, 1, 3))
    position[:, 0, 0] = path
    pairs = [crossings(a, b, (0, 0, 0), (1, 0, 0)) for a, b in zip(position, position[1:], strict=False)]
    assert pairs == [(1, 0), (0, 0), (0, 0), (0, 0), (0, 1)]


def test_in_a_periodic_box_images_of_the_plane_count():
    before, after = np.array([[0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]), np.array([[3.5, 0.0, 0.0], [-0.5, 0.0, 0.0]])
    assert crossings(before, after, (0, 0, 0), (1, 0, 0), period_m=1.0) == (3, 1)


def test_crossings_beyond_the_radius_do_not_count():
    before, after = np.array([[-1.0, 0.0, 0.0], [-1.0, 0.0, 4.0]]), np.array([[1.0, 0.0, 1.9], [1.0, 0.0, 4.0]])
    assert crossings(before, after, (0, 0, 0), (1, 0, 0), radius_m=1.0) == (1, 0)
    assert crossings(before, after, (0, 0, 0), (1, 0, 0), radius_m=0.9) == (0, 0)
    with pytest.raises(ValueError, match="give no period_m"):
        crossings(before, after, (0, 0, 0), (1, 0, 0), period_m=1.0, radius_m=1.0)


@pytest.mark.parametrize("n_lags", [None, 3])
def test_autocorrelation_is_the_plain_sum(n_lags):
    velocity = np.random.default_rng(3).normal(size=(7, 100, 3))
    plain = [np.mean([np.sum(velocity[t] * velocity[t + k]) for t in range(7 - k)]) / 100 for k in range(7)]
    assert velocity_autocorrelation(velocity, n_lags) == pytest.approx(plain[:n_lags])


def test_green_kubo_of_an_exponential_is_exact_to_second_order():
    time, step = np.linspace(0.0, 20.0, 2001), 0.01
    diffusion = green_kubo(3.0 * np.exp(-time / 2.0), step)
    assert diffusion[0] == 0.0 and diffusion == pytest.approx(2.0 * (1.0 - np.exp(-time / 2.0)), abs=step**2)
