"""Bands and sensitivity indices of a study beside exact ones: a function of Python takes the place of the flow."""

from math import log, pi, sin, sqrt

import numpy as np
import pytest

from muphy_lb import InputError, Study
from muphy_lb.apps.study.answers import band_of
from muphy_lb.apps.study.spread import spreads

TOLERANCE = 0.02
"""Of an index, as asked for."""
UNIFORM = [{"name": f"x{k}", "key": f"run.x{k}", "uniform": [-pi, pi]} for k in (1, 2, 3)]
OF_A_PIPE = {"viscosity": (3.5e-3, 0.10), "flow": (5e-6, 0.15), "radius": (2e-3, 0.06)}
"""Mean and coefficient of variation."""


def studied(folder, model, parameters, **keys) -> Study:
    """A study of a function that has run."""
    study = Study({"study": {"parameters": parameters, **keys}}, folder, model=model)
    study.run()
    return study


def ishigami(x):
    """Ishigami and Homma (1990), with a = 7 and b = 0.1."""
    return {"y": sin(x["x1"]) + 7.0 * sin(x["x2"]) ** 2 + 0.1 * x["x3"] ** 4 * sin(x["x1"])}


def shear_in_a_pipe(x):
    """Wall shear stress of Poiseuille flow [Pa]."""
    return {"shear": 4.0 * x["viscosity"] * x["flow"] / (pi * x["radius"] ** 3)}


@pytest.mark.parametrize(("sampler", "samples"), [("sobol", 256), ("latin-hypercube", 512)])
def test_indices_of_ishigami_are_the_exact_ones(tmp_path, sampler, samples):
    study = studied(tmp_path, ishigami, UNIFORM, sampler=sampler, samples=samples)
    indices = study.answers["y"].indices
    variance = 49.0 / 8.0 + 0.1 * pi**4 / 5.0 + 0.01 * pi**8 / 18.0 + 0.5
    first = 0.5 * (1.0 + 0.1 * pi**4 / 5.0) ** 2, 49.0 / 8.0, 0.0
    both = 8.0 * 0.01 * pi**8 / 225.0
    assert [index.first for index in indices] == pytest.approx(np.array(first) / variance, abs=TOLERANCE)
    total = np.array(first) + [both, 0.0, both]
    assert [index.total for index in indices] == pytest.approx(total / variance, abs=TOLERANCE)


@pytest.mark.parametrize(
    ("sampler", "samples"), [pytest.param("sobol", 512, marks=pytest.mark.night), ("latin-hypercube", 60)]
)
def test_indices_of_shear_in_a_pipe_are_those_of_the_exact_series(tmp_path, sampler, samples):
    """A product of powers of independent lognormal values has the index (exp(p_i^2 s_i^2) - 1) / (exp(sum) - 1)."""
    lognormal = [
        {"name": name, "key": f"run.{name}", "lognormal": [mean, mean * variation]}
        for name, (mean, variation) in OF_A_PIPE.items()
    ]
    study = studied(tmp_path, shear_in_a_pipe, lognormal, sampler=sampler, samples=samples)
    power, variation = np.array([1.0, 1.0, -3.0]), np.array([v for _, v in OF_A_PIPE.values()])
    logarithmic = power**2 * np.log(1.0 + variation**2)
    exact = np.expm1(logarithmic) / np.expm1(logarithmic.sum())
    answer = study.answers["shear"]
    assert [index.first for index in answer.indices] == pytest.approx(exact, abs=TOLERANCE)
    mean = log(4.0 / pi) + sum(
        p * (log(m) - 0.5 * log(1.0 + v**2)) for p, (m, v) in zip(power, OF_A_PIPE.values(), strict=True)
    )
    assert answer.band.mean == pytest.approx(np.exp(mean + 0.5 * logarithmic.sum()), abs=4.0 * answer.band.mean_error)


def test_all_combinations_have_exact_indices(tmp_path):
    """Of y = a + 2 b + a b over a, b = -1, 1 the shares are 1/6, 4/6 and, together, 1/6."""
    pair = [{"name": name, "key": f"run.{name}", "values": [-1, 1]} for name in "ab"]
    study = studied(tmp_path, lambda x: {"y": x["a"] + 2 * x["b"] + x["a"] * x["b"]}, pair, sampler="factorial")
    first, second = study.answers["y"].indices
    assert (first.first, second.first) == pytest.approx((1 / 6, 4 / 6))
    assert (first.total, second.total) == pytest.approx((2 / 6, 5 / 6))


def test_the_surface_of_all_combinations_knows_no_more_than_their_values(tmp_path):
    """Of two values a polynomial of higher degree than 1 says nothing; without that bound coefficients are 1e15."""
    parameters = [
        {"name": "a", "key": "run.a", "values": list(range(16))},
        {"name": "b", "key": "run.b", "values": [0, 1]},
    ]
    surface = studied(tmp_path, lambda x: {"y": x["a"] ** 2 + x["b"]}, parameters, sampler="factorial").answers["y"]
    assert surface.expansion.powers[:, 1].max() <= 1 and surface.expansion.powers[:, 0].max() > 1
    assert np.abs(surface.expansion.coefficients).max() < 16**2
    assert surface.expansion.missed < 1e-6


def test_the_probability_of_a_band_is_that_of_its_own_members(tmp_path):
    """Of Saltelli's design the sample is A and B alone: 32 of 80 members."""
    study = studied(tmp_path, ishigami, UNIFORM, sampler="sobol", samples=16)
    assert "a band of 32 members holds 94 %" in "\n".join(study.write(with_pictures=False))


def test_the_spread_over_blocks_is_that_of_a_sample(tmp_path):
    """Of 1 and 3 for two blocks the deviation is sqrt(2); a single block has none."""
    crops = [[[0, 0, 0], [8, 8, 8]], [[0, 0, 0], [4, 4, 4]], [[4, 4, 4], [8, 8, 8]]]
    parameters = [
        {"name": "crop", "key": "geometry.options.crop", "values": crops},
        {"name": "y", "key": "run.y", "values": [5, 1, 3]},
    ]
    found = spreads(studied(tmp_path, lambda x: {"y": x["y"]}, parameters, sampler="list").table, "y")
    assert [tuple(each) for each in found] == [
        pytest.approx((4.0, 2, 2.0, sqrt(2.0))),
        pytest.approx((8.0, 1, 5.0, 0.0)),
    ]


def test_correlated_parameters_are_one_factor(tmp_path):
    normal = [{"name": name, "key": f"run.{name}", "normal": [0.0, 1.0]} for name in "abc"]
    together = [{"between": ["a", "c"], "coefficient": 0.8}]
    study = studied(
        tmp_path, lambda x: {"y": x["a"] + x["b"] + x["c"]}, normal, sampler="sobol", samples=256, correlations=together
    )
    values = study.members.design.values[study.members.design.independent].astype(float)
    assert np.corrcoef(values[:, 0], values[:, 2])[0, 1] == pytest.approx(0.8, abs=0.02)
    assert [(index.factor, round(index.first, 2)) for index in study.answers["y"].indices] == [
        ("a & c", round(3.6 / 4.6, 2)),
        ("b", round(1.0 / 4.6, 2)),
    ]


def test_bands_hold_95_of_100_further_values():
    """Of 2000 samples of 50 members each, of a skewed distribution: 95 +- 1, five standard errors of that number."""
    random = np.random.default_rng(5)
    drawn = random.lognormal(0.0, 0.5, (2000, 51))
    ends = np.quantile(drawn[:, :50], (0.025, 0.975), axis=1, method="weibull")
    band = band_of(drawn[0, :50])
    assert (band.low, band.high) == pytest.approx(tuple(ends[:, 0]))
    assert 0.94 <= np.mean((ends[0] <= drawn[:, 50]) & (drawn[:, 50] <= ends[1])) <= 0.96


def test_errors_of_a_band_are_those_of_its_repetition():
    """The standard errors by bootstrap, and the spread of the same numbers over 60 samples."""
    random = np.random.default_rng(7)
    bands = [band_of(random.normal(3.0, 2.0, 100), seed) for seed in range(60)]
    for name, allowed in (("mean", 0.3), ("deviation", 0.3), ("low", 0.4), ("high", 0.4)):
        spread = np.std([getattr(band, name) for band in bands])
        assert np.mean([getattr(band, f"{name}_error") for band in bands]) == pytest.approx(spread, rel=allowed)


def test_failures_are_counted_and_leave_their_base_points_out(tmp_path):
    def half(x):
        if x["x1"] < 0.0:
            raise InputError(f"x1 is {x['x1']:.0f}; it must be above 0")
        return {"y": x["x1"] + x["x2"]}

    study = studied(tmp_path, half, UNIFORM, sampler="sobol", samples=64)
    assert len(study.table.failures) == int((study.members.design.values[:, 0] < 0.0).sum()) > 100
    text = "\n".join(study.write(with_pictures=False))
    assert f"{len(study.table.failures)} failed" in text and "; it must be above 0" in text
    assert "base points left out where a member failed" in study.answers["y"].method
    assert study.answers["y"].band.low > -pi


def test_the_same_seed_gives_the_same_members(tmp_path):
    tables = [
        studied(tmp_path / str(k), ishigami, UNIFORM, samples=8, seed=seed).members.design.values
        for k, seed in enumerate((3, 3, 4))
    ]
    assert np.array_equal(tables[0], tables[1]) and not np.array_equal(tables[0], tables[2])


def test_members_that_have_ended_are_not_run_again(tmp_path):
    calls = []

    def counted(x):
        calls.append(x)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return {"y": x["x1"]}

    study = Study({"study": {"parameters": UNIFORM, "samples": 8}}, tmp_path, model=counted)
    with pytest.raises(KeyboardInterrupt):
        study.run()
    study.run()
    assert len(calls) == 9 and study.table.has_ended.all()
