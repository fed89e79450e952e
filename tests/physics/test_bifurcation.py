"""Growth is fitted to a record; the symmetric component of a cube; where growth vanishes."""

import numpy as np
import pytest

from muphy_lb.validation.thermal import heated_bifurcation as bifurcation
from muphy_lb.validation.thermal.heated_bifurcation import (
    DELAYS,
    SYMMETRIC,
    SYMMETRY_CLASSES,
    disturbance,
    fit_growth,
    rescaled,
    symmetry_component,
    threshold,
)
from muphy_lb.validation.thermal.heated_cavity import Cavity

INTERVAL, ROWS, SIGNALS = 0.4, 150, 12


def any_cavity(n):
    """Without any symmetry."""
    rng = np.random.default_rng(2)
    return Cavity((1.0, 1.0), rng.random((n, n, n)), rng.random((n, n, n, 3)), rng.random((n, n, n)))


def record(*modes, noise=0.0):
    """Signals that oscillate and grow together, (rate, frequency, amplitude) each."""
    rng, t = np.random.default_rng(3), INTERVAL * np.arange(ROWS)[:, None]
    phases = rng.uniform(0.0, 2.0 * np.pi, (len(modes), SIGNALS))
    waves = [a * np.exp(r * t) * np.cos(2 * np.pi * f * t + p) for (r, f, a), p in zip(modes, phases, strict=True)]
    return sum(waves) + noise * rng.standard_normal((ROWS, SIGNALS))


@pytest.mark.parametrize("rate", [-0.0125, 0.0, 0.0136])
@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_the_leading_mode_is_found_among_those_that_die_out(rate, noise):
    found = fit_growth(record((rate, 0.0088, 1.0), (-0.037, 0.105, 0.5), (-0.054, 0.14, 0.2), noise=noise), INTERVAL)
    assert found.rate == pytest.approx(rate, abs=2e-4)
    assert found.frequency == pytest.approx(0.0088, rel=0.02)
    assert found.spread < 2e-4


def test_a_mode_too_weak_to_matter_does_not_lead():
    found = fit_growth(record((-0.01, 0.05, 1.0), (0.002, 0.2, 1e-3)), INTERVAL)
    assert found.rate == pytest.approx(-0.01, abs=1e-6)


def test_a_short_record_is_refused():
    with pytest.raises(ValueError, match=f"at least {3 * DELAYS}"):
        fit_growth(np.ones((3 * DELAYS - 1, 4)), INTERVAL)


def test_a_symmetric_flow_has_both_symmetries_and_a_disturbance_none():
    n = 6
    found = symmetry_component(any_cavity(n), SYMMETRIC)
    assert np.allclose(found.temperature, found.temperature[:, ::-1], atol=1e-15)
    assert np.allclose(found.temperature, -found.temperature[::-1, ::-1, ::-1], atol=1e-15)
    assert np.allclose(found.velocity, found.velocity[:, ::-1] * (1.0, -1.0, 1.0), atol=1e-15)
    assert np.allclose(found.velocity, -found.velocity[::-1, ::-1, ::-1], atol=1e-15)
    assert np.allclose(found.pressure, found.pressure[::-1, ::-1, ::-1], atol=1e-15)
    again = symmetry_component(found, SYMMETRIC)
    assert np.allclose(again.velocity, found.velocity, atol=1e-15)
    kick = disturbance(n)
    assert np.abs(kick).max() == pytest.approx(bifurcation.AMPLITUDE)
    assert np.abs(kick - kick[:, ::-1]).max() > 1e-4 and np.abs(kick + kick[::-1, ::-1, ::-1]).max() > 1e-4


def test_all_sorts_together_are_the_whole_and_each_is_raised_to_the_same():
    cavity = any_cavity(6)
    parts = {signs: symmetry_component(cavity, signs) for signs in (SYMMETRIC, *SYMMETRY_CLASSES.values())}
    up = rescaled(cavity)
    for name in ("temperature", "velocity", "pressure"):
        whole = sum(getattr(of, name) for of in parts.values())
        assert np.allclose(whole, getattr(cavity, name), atol=1e-15)
        assert np.allclose(
            getattr(symmetry_component(up, SYMMETRIC), name), getattr(parts[SYMMETRIC], name), atol=1e-15
        )
    for signs in SYMMETRY_CLASSES.values():
        factor = bifurcation.AMPLITUDE / np.abs(parts[signs].temperature).max()
        assert np.abs(symmetry_component(up, signs).temperature).max() == pytest.approx(bifurcation.AMPLITUDE)
        assert np.allclose(symmetry_component(up, signs).velocity, factor * parts[signs].velocity, atol=1e-15)


def test_the_threshold_lies_where_growth_vanishes():
    def run(rayleigh, *rates):
        growths = tuple(bifurcation.Growth(rate, 0.01, 0.0) for rate in rates)
        return bifurcation.PerturbedRun(rayleigh, 8, np.zeros(0), np.zeros((3, 0, 0)), growths)

    # What breaks the centre alone follows from the other two.
    below, above = run(3.0e7, -0.03, -0.01, -0.001), run(3.5e7, 0.02, -0.02, 0.5)
    assert threshold(below, above) == pytest.approx(3.3e7)
    assert (below.fastest.rate, above.fastest.rate) == (-0.01, 0.02)
