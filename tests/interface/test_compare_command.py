"""``muphy-lb compare``: what it measures, writes and says, and how it ends."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from matplotlib.image import imread

from muphy_lb.base.errors import BackendError, InputError
from muphy_lb.bench.compare import study
from muphy_lb.bench.compare.command import add_options, compare
from muphy_lb.case.case import load_case
from muphy_lb.setup.numerics import resolve
from tests.vessel import called

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "compare"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.toml"))
CASE = """
title = "spheres"
[geometry]
shape = "sphere_pack"
spacing_m = 1e-5
options = {radius = 3.0, porosity = 0.7}
[fluid]
density_kg_m3 = 1000.0
kinematic_viscosity_m2_s = 1e-6
[flow]
acceleration_m_s2 = [100.0, 0.0, 0.0]
[lattice]
relaxation_time = 0.8
[run]
steps = 30
"""
QUICK = ["--sizes", "12,8", "--backends", "numpy,cpu", "--steps", "12", "--seconds", "0.1"]


def call(path, *arguments, n_ranks=1):
    """The command on a case file: exit code and what was said."""
    return called(compare, add_options, path, *arguments, communicator=SimpleNamespace(rank=0, size=n_ranks))


@pytest.fixture(scope="module")
def case_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("case") / "spheres.toml"
    path.write_text(CASE)
    return path


@pytest.fixture(scope="module")
def finished(case_file, tmp_path_factory):
    """A finished comparison: exit code, what was said, the output folder."""
    folder = tmp_path_factory.mktemp("compare")
    return *call(case_file, *QUICK, "-o", folder / "out", "--json", folder / "copy.json"), folder / "out"


@pytest.fixture(scope="module")
def record(finished):
    return json.loads((finished[2] / "compare.json").read_text())


def refusal(path, *arguments, error=InputError, n_ranks=1):
    """Text of the error that ends the command."""
    with pytest.raises(error) as caught:
        call(path, *arguments, n_ranks=n_ranks)
    return str(caught.value)


def test_the_command_ends_well_and_writes_what_it_says(finished):
    assert finished[0] == 0
    assert (finished[2] / "compare.txt").read_text().strip() in finished[1]
    folder = finished[2]
    assert (folder.parent / "copy.json").read_text() == (folder / "compare.json").read_text()


def test_every_size_is_timed_on_every_backend_in_rising_order(record):
    found = [(timing["size"], timing["backend"]) for timing in record["timings"]]
    assert found == [(8, "numpy"), (8, "cpu"), (12, "numpy"), (12, "cpu")]
    assert all(10 <= timing["steps"] <= 12 for timing in record["timings"])
    for timing in record["timings"]:
        updates = 1000 * timing["n_fluid"]
        assert timing["seconds_per_1000_steps"] == pytest.approx(updates / (1e6 * timing["mflups"]), rel=1e-12)
    for reference, other in zip(record["timings"][::2], record["timings"][1::2], strict=True):
        ratio = reference["seconds_per_1000_steps"] / other["seconds_per_1000_steps"]
        assert reference["speed_up"] == 1.0 and other["speed_up"] == pytest.approx(ratio, rel=1e-12)


def test_the_backends_agree_on_a_flow_that_moves(record):
    (agreement,) = record["agreements"]
    assert agreement["passed"] and agreement["size"] == 8 and agreement["top_speed"] > 1e-3


def test_a_paper_s_seconds_stand_beside_those_of_its_backends(case_file, tmp_path):
    quick = ("--sizes", "12,16", "--backends", "numpy,cpu", "--steps", "10", "--seconds", "0.1")
    _, said = call(case_file, *quick, "--paper", "bang", "-o", tmp_path)
    rows = [line.split() for line in said.splitlines() if line.split()[0] in ("12", "16")]
    assert [(row[0], row[3], row[-1]) for row in rows] == [
        *(("12", "numpy", "-"), ("12", "cpu", "-")),
        *(("16", "numpy", "0.7387"), ("16", "cpu", "-")),
    ]


@pytest.mark.parametrize("name", ["time.png", "speed.png", "quiver.png"])
def test_picture_is_not_blank(finished, name):
    assert imread(finished[2] / name)[..., :3].std() > 0.02


def test_backends_that_differ_end_the_command_with_one(case_file, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "BOUNDS", {"fp32": -1.0})
    code, said = call(case_file, *QUICK, "--sizes", "8", "-o", tmp_path)
    assert code == 1 and "DIFFER" in said


def test_a_backend_that_cannot_be_used_is_listed_with_the_reason(case_file, tmp_path, monkeypatch):
    monkeypatch.setattr("muphy_lb.backends.count_gpus", lambda: 0)
    code, said = call(case_file, *QUICK, "--sizes", "8", "--backends", "cuda,numpy", "-o", tmp_path)
    unusable = json.loads((tmp_path / "compare.json").read_text())["unusable"]
    assert code == 0 and "no CUDA GPU" in unusable["cuda"] and f"cuda: not timed: {unusable['cuda']}" in said


def test_a_precision_that_a_backend_cannot_do_is_left_to_the_others(case_file, tmp_path):
    arguments = ("--sizes", "8", "--precision", "fp32,fp16", "-o", tmp_path)
    code, said = call(case_file, *QUICK, *arguments)
    record = json.loads((tmp_path / "compare.json").read_text())
    timed = [(timing["precision"], timing["backend"]) for timing in record["timings"]]
    assert code == 0 and timed == [("fp32", "numpy"), ("fp32", "cpu"), ("fp16", "numpy")]
    assert "cpu in fp16: not timed: precision 'fp16' needs a GPU" in said


def test_a_precision_that_no_backend_can_do_is_an_error(case_file):
    arguments = ("--precision", "fp16", "--backends", "cpu")
    assert "'fp16' needs a GPU" in refusal(case_file, *arguments, error=BackendError)


def test_no_usable_backend_is_an_error(case_file, monkeypatch):
    monkeypatch.setattr("muphy_lb.backends.count_gpus", lambda: 0)
    assert "no CUDA GPU" in refusal(case_file, "--backends", "cuda", error=BackendError)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--backends", "numpy,cpus"], "--backends has 'cpus'; did you mean 'cpu'?"),
        (["--precision", "fp8"], "--precision has 'fp8'; did you mean"),
        (["--sizes", "16,big"], "--sizes has 'big'; give whole numbers"),
        (["--sizes", "0"], "--sizes has '0'; give whole numbers"),
        (["--sizes", ""], "--sizes has ''; give whole numbers"),
        (["--steps", "0"], "--steps is 0; give a number above zero"),
        (["--seconds", "nan"], "--seconds is nan; give a number above zero"),
        (["--set", "geometry.shape=pipe"], "shape 'pipe' has no option size"),
        (["--set", "geometry.shape=", "--set", "geometry.file=rock.raw"], "is the file rock.raw, which has one size"),
    ],
)
def test_wrong_input_is_refused_by_name(case_file, arguments, words):
    assert words in refusal(case_file, *arguments)


def test_the_shapes_that_have_a_size_are_named(case_file):
    assert "sphere_pack" in refusal(case_file, "--set", "geometry.shape=pipe")


def test_several_ranks_are_refused(case_file):
    assert "started on 2 ranks" in refusal(case_file, n_ranks=2)


@pytest.mark.parametrize("name", NAMES)
def test_example_is_sound(name):
    numerics = resolve(load_case(EXAMPLES / f"{name}.toml"))
    assert numerics.warnings == () and numerics.relaxation_time > 0.52 and (numerics.mach or 0.0) < 0.17


@pytest.mark.parametrize("name", NAMES)
def test_example_moves_alike_on_two_backends(name):
    case = load_case(EXAMPLES / f"{name}.toml", ["run.ramp_steps=20"])
    plan = study.ComparisonPlan(("numpy", "cpu"), (16,), ("fp64",), steps=10, seconds=0.1)
    (agreement,) = study.check_agreement(case, plan)
    assert agreement.passed and 1e-3 < agreement.top_speed < 0.17
