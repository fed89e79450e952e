"""Members on other grids beside exact ones: the share of the grid in a band, and coarse members as control variates."""

import json
from math import hypot

import numpy as np
import pytest

from muphy_lb import InputError, Study
from muphy_lb.apps.study.control_variate import control_variate
from muphy_lb.apps.study.discretisation import discretisation_of, on_grid
from tests.channel import PERIODIC, SPACING_M, changed, periodic_channel
from tests.vessel import vessel

POINTS = [
    {"name": "a", "key": "run.a", "uniform": [0.0, 2.0]},
    {"name": "b", "key": "run.b", "lognormal": [1.0, 0.3]},
]
GRIDS = (1.0, 1.5, 2.0)


def converging(x):
    """An answer of order 1.5, whose limit at the middle of the distributions is 1 + 1 / sqrt(1.09)."""
    return {"y": x["a"] + x["b"] + 0.2 / x["grid"] ** 1.5, "kept": x["a"]}


def test_the_grid_convergence_index_is_that_of_celik():
    """Table 1 of Celik et al. (2008), a reattachment length on 18000, 8000 and 4500 cells in the plane: order 1.53,
    extrapolated 6.1685, index 2.2 %."""
    found = discretisation_of((1 / 2, 2 / 3, 1.0), (5.863, 5.972, 6.063))
    assert found.order == pytest.approx(1.53, abs=0.01) and found.limit == pytest.approx(6.1685, abs=1e-3)
    assert found.index == pytest.approx(0.022, abs=5e-4)


@pytest.mark.parametrize(
    ("values", "kind", "error"),
    [
        ((1.0, 1.2, 1.1), "oscillatory", 0.2),
        ((1.0, 1.1, 1.3), "divergent", None),
        ((1.0, 1.1, 1.1), "monotonic", 3.0 * 0.1),
        ((1.0, 1.0, 1.1), "divergent", None),
        ((1.0, 1.0, 1.0), "same", 0.0),
        ((1.0, np.nan, 1.1), "missing", None),
    ],
)
def test_values_that_do_not_converge_are_told(values, kind, error):
    found = discretisation_of(GRIDS, values)
    assert found.kind == kind and found.error == (error if error is None else pytest.approx(error))
    assert found.told.startswith("on grids of 1, 1.5, 2 times as many voxels along an edge 1")


@pytest.mark.parametrize(("order", "taken"), [(6.0, 2.0), (0.1, 0.5)])
def test_an_order_that_is_not_reasonable_widens_the_error(order, taken):
    """Changes of 0.4 % that do not shrink, as of noise, would go to a limit far away."""
    values = [1.0 + grid**-order for grid in GRIDS]
    found = discretisation_of(GRIDS, values)
    limit = values[2] - (values[1] - values[2]) / ((4.0 / 3.0) ** taken - 1.0)
    assert found.order == pytest.approx(order) and found.limit == pytest.approx(limit)
    assert found.error == pytest.approx(3.0 * abs(values[0] - limit))
    assert f"which is not reasonable ({taken:g} takes its place)" in found.told


def test_a_study_tells_the_share_of_the_grid(tmp_path):
    study = Study({"study": {"parameters": POINTS, "samples": 40, "grids": GRIDS}}, tmp_path, model=converging)
    study.run()
    told = "\n".join(study.write(with_pictures=False))
    answer, columns = study.answers["y"], study.columns()
    assert columns["grid"].tolist() == [1.0] * 40 + list(GRIDS) and "43 of 43 members ended" in told
    assert answer.band.n == 40 and answer.expansion.missed < 1e-6, "members on other grids are no sample"
    assert (answer.grid.order, answer.grid.limit) == pytest.approx((1.5, 1.0 + 1.0 / np.sqrt(1.09)))
    assert answer.grid.error == pytest.approx(1.25 * 0.2)
    low, high = answer.whole_band
    assert high == pytest.approx(answer.band.mean + hypot(answer.band.high - answer.band.mean, 0.25))
    assert f"y: with the grid the 95 % band is {low:.5g} to {high:.5g}" in told
    assert study.answers["kept"].grid.kind == "same"
    assert (tmp_path / "members.csv").read_text().splitlines()[
        0
    ] == "member,status,a,b,grid,y,kept,steps,verdict,reason"


def test_a_member_that_fails_on_another_grid_leaves_a_table_that_programs_read(tmp_path):
    def coarse_fails(x):
        if x["grid"] < 1.0:
            raise InputError("too coarse")
        return converging(x)

    study = Study(
        {"study": {"parameters": POINTS, "samples": 4, "grids": [0.5, 0.7, 1.0]}}, tmp_path, model=coarse_fails
    )
    study.run()
    told = "\n".join(study.write(with_pictures=False))
    assert "failed, 2 (4, 5): too coarse" in told and "y: on grids of 0.5, 0.7, 1" in told

    def refuse(constant):
        raise AssertionError(constant)

    record = json.loads((tmp_path / "answers.json").read_text(), parse_constant=refuse)["answers"]["y"]["grid"]
    assert record["kind"] == "missing" and record["values"][:2] == [None, None] and record["band"] is None


@pytest.mark.parametrize("keys", [{"sampler": "sobol", "samples": 16}, {"sampler": "factorial"}, {"sampler": "list"}])
def test_members_on_other_grids_change_no_answer_of_the_others(tmp_path, keys):
    """Band and indices are those of a study without grids, and the answer on the grids is that of the middle."""
    parameters = [{"name": name, "key": f"run.{name}", "values": [0.0, 1.0, 2.0]} for name in "ab"]
    studies = [
        Study(
            {"study": {"parameters": parameters, **keys, **grids}},
            tmp_path / str(k),
            model=lambda x: converging({"grid": 1.0} | x),
        )
        for k, grids in enumerate(({}, {"grids": GRIDS}))
    ]
    for study in studies:
        study.run()
    alone, beside = (study.answers["y"] for study in studies)
    assert (alone.band, alone.indices, alone.method) == (beside.band, beside.indices, beside.method)
    assert beside.grid.values == pytest.approx([2.0 + 0.2 / grid**1.5 for grid in GRIDS])
    assert studies[1].members.design.n_members == studies[0].members.design.n_members + 3


def test_the_limit_of_a_channel_is_poiseuille(tmp_path):
    """With a relaxation time of 1 half-way walls slip by an error of order 2, and the permeability goes to that of
    plates, H^2 / 12 of the share H / (H + 2 voxels) that is open."""
    case = changed(
        PERIODIC,
        geometry={"options": {"length": 2, "height": 4, "width": 1}},
        walls=[],
        flow={"acceleration_m_s2": [1e-3, 0.0, 0.0]},
        lattice={"time_step_s": None, "relaxation_time": 1.0, "equilibrium": "stokes"},
        compute={"backend": "cpu"},
        run={"steps": 150},
        output={"permeability": True},
    )
    drive = {"name": "drive", "key": "flow.acceleration_m_s2", "uniform": [0.9, 1.1], "relative": True}
    given = {"samples": 2, "grids": [1, 2, 3], "parameters": [drive], "answers": ["permeability.permeability_m2"]}
    study = Study({"case": case, "study": given}, tmp_path)
    study.run()
    found = study.answers["permeability.permeability_m2"].grid
    assert found.order == pytest.approx(2.0, abs=0.01)
    assert found.limit == pytest.approx((4.0 * SPACING_M) ** 2 / 12.0 * 4.0 / 6.0, rel=1e-3)
    assert found.error == pytest.approx(1.25 * abs(found.values[0] - found.limit))


def test_a_case_on_another_grid_has_the_same_relaxation_time():
    fixed = periodic_channel()
    finer = on_grid(fixed, 3.0)
    assert finer.geometry.options["divide"] == 3 and finer.geometry.spacing_m == fixed.geometry.spacing_m
    assert finer.lattice.time_step_s == fixed.lattice.time_step_s / 9.0 and finer.run.steps == 9 * fixed.run.steps
    tree = vessel(run={"steps": 400, "ramp_steps": 100, "steady_tolerance": 1e-3, "steady_interval_steps": 40})
    coarser = on_grid(tree, 0.5)
    assert coarser.geometry.spacing_m == 2.0 * tree.geometry.spacing_m
    assert coarser.lattice.lattice_velocity == 2.0 * tree.lattice.lattice_velocity
    assert (coarser.run.steps, coarser.run.ramp_steps, coarser.run.steady_interval_steps) == (100, 25, 10)


@pytest.mark.parametrize("option", [{"divide": "x"}, {"reservoir_layers": "a"}])
def test_options_that_are_no_numbers_are_left_to_the_reader(option):
    case = periodic_channel(geometry={"options": option})
    assert on_grid(case, 2.0).geometry == case.geometry


def normal_pair(x):
    """Standard normal values of correlation 0.95 on both grids."""
    return {"y": x["u"] if x["grid"] == 1.0 else 0.5 + 2.0 * (0.95 * x["u"] + np.sqrt(1.0 - 0.95**2) * x["v"])}


def skewed(x):
    """A square beside a coarse answer that is linear: the regression of the one on the other is none of theirs."""
    return {"y": (x["u"] + 0.5) ** 2 if x["grid"] == 1.0 else x["u"] + 0.3 * x["v"]}


@pytest.mark.parametrize(("model", "truth"), [(normal_pair, 0.0), (skewed, 1.25)])
def test_coarse_members_leave_the_mean_unbiased_and_gain_what_they_should(tmp_path, model, truth):
    """Over 400 repetitions of 20 pairs and 80 coarse members: no bias within 3.5 standard errors, a variance that is
    told, and the gain of the theory, n / (n + (n + k) w) / (1 - k / (n + k) r^2)."""
    n, k, factor, repeats = 20, 80, 0.5, 400
    points = [{"name": name, "key": f"run.{name}", "normal": [0.0, 1.0]} for name in "uv"]
    given = {"parameters": points, "sampler": "random", "coarse": factor}
    large = {**given, "samples": n * repeats, "coarse_samples": k * repeats}
    design = Study({"study": large}, tmp_path, model=model).members
    values = np.array([model(design.values(number))["y"] for number in range(design.design.n_members)])
    fine, coarse = values[design.design.drawn].reshape(repeats, n), values[design.design.pairs].reshape(repeats, n)
    further = values[design.design.coarse].reshape(repeats, k)
    found = [control_variate(*each, factor**5) for each in zip(fine, coarse, further, strict=True)]
    means, plain = np.array([each.mean for each in found]), fine.mean(axis=1)
    assert abs(means.mean() - truth) < 3.5 * means.std() / np.sqrt(repeats)
    squared = np.mean([each.error**2 for each in found])
    assert squared == pytest.approx(means.var(), rel=0.15)
    r = np.corrcoef(fine.ravel(), coarse.ravel())[0, 1]
    paid = n / (n + (n + k) * factor**5)
    theory = paid / (1.0 - k / (n + k) * r**2)
    assert paid * plain.var() / means.var() == pytest.approx(theory, rel=0.25)
    assert np.median([each.gain for each in found]) == pytest.approx(theory, rel=0.25)


def test_a_study_tells_the_gain_of_coarse_members(tmp_path):
    points = [{"name": name, "key": f"run.{name}", "normal": [0.0, 1.0]} for name in "uv"]
    given = {"parameters": points, "sampler": "random", "samples": 40, "coarse": 0.5, "coarse_samples": 160}
    study = Study({"study": given}, tmp_path, model=normal_pair)
    study.run()
    control = study.answers["y"].control
    assert control.is_used and control.n == 40 and control.k == 160 and control.cost == 0.5**5
    assert study.answers["y"].band.mean == control.plain
    assert "control variates" in "\n".join(study.write(with_pictures=False))


def test_coarse_members_that_say_nothing_are_not_used(tmp_path):
    def apart(x):
        return {"y": x["u"] if x["grid"] == 1.0 else x["v"]}

    points = [{"name": name, "key": f"run.{name}", "normal": [0.0, 1.0]} for name in "uv"]
    given = {"parameters": points, "sampler": "random", "samples": 40, "coarse": 0.5, "coarse_samples": 40, "seed": 3}
    study = Study({"study": given}, tmp_path, model=apart)
    study.run()
    assert study.answers["y"].control.gain < 1.0


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"grids": [1, 2]}, "give 3 ascending factors"),
        ({"grids": [1.5, 2, 3]}, "and 1 among them"),
        ({"grids": [1, 1.05, 2]}, "1.1 times the one before"),
        ({"grids": [1, 2, 3], "start": "out"}, "has start, a flow on its own nodes, and grids"),
        ({"coarse": 0.5}, "has coarse alone; give coarse and coarse_samples together"),
        ({"coarse": 0.5, "coarse_samples": 10}, "the sampler latin-hypercube, whose points depend on each other"),
        ({"coarse": 0.5, "coarse_samples": 10, "sampler": "random"}, "need 8 samples or more"),
        ({"coarse": 1.5, "coarse_samples": 10, "sampler": "random"}, "less than 1"),
        ({"grids": [1, 1.5, 2]}, "into 1.5 parts; give factors that make whole numbers"),
    ],
)
def test_grids_that_cannot_be_are_refused(tmp_path, keys, told):
    drive = {"name": "drive", "key": "fluid.kinematic_viscosity_m2_s", "uniform": [1e-5, 2e-5]}
    with pytest.raises(InputError, match=told):
        Study({"case": PERIODIC, "study": {"parameters": [drive], "samples": 4} | keys}, tmp_path)
