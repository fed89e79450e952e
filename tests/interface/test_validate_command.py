"""``muphy-lb validate``: what it lists, judges and writes, on cases that cost nothing."""

import base64
import json
import re
from math import inf, nan
from types import SimpleNamespace

import pytest

from muphy_lb.base.errors import BackendError, DivergedError, InputError, OutputError
from muphy_lb.validation.case import DEFAULT, Settings, Validation, absolute, relative
from muphy_lb.validation.command import add_options, validate
from muphy_lb.validation.plot import Plot, Series, convergence, draw
from tests.vessel import called

PNG = b"\x89PNG"
PLOT = Plot("Error & order", "size", "error", (Series("a <b>", [1, 2], [0.5, 0.25], "points"),), log_x=True)


def good(settings):
    """A case that passes.

    More about it.
    """
    return Validation("good", "Author <2020> & others", (absolute("u [m/s]", 1.0, 1.0, 0.1),), plots=(PLOT,))


def wrong(settings):
    """A case that fails."""
    return Validation("wrong", "c", (absolute("a", 0.0, 1.0, 0.1), absolute("b", 0.0, nan, 0.1)))


def diverging(settings):
    """A case that ends early."""
    raise DivergedError("the run diverged at step 7")


@pytest.fixture
def run(monkeypatch):
    """Function ``run(*arguments, **cases)``: (exit code, what was said) of the command on these cases."""

    def run_command(*arguments, communicator=DEFAULT.communicator, **cases):
        monkeypatch.setattr("muphy_lb.validation.cases.CASES", cases)
        return called(validate, add_options, *arguments, communicator=communicator)

    return run_command


def settings_seen(run, *arguments):
    """The settings that a case is called with."""
    seen = []
    run(*arguments, spy=lambda settings: seen.append(settings) or Validation("spy", "c"))
    return seen[0]


def test_list_tells_every_case_in_a_line_and_runs_none(run):
    code, said = run("--list", good=good, diverging=diverging)
    assert code == 0
    assert re.fullmatch(r"good +A case that passes\.\ndiverging +A case that ends early\.", said)


def test_list_of_the_real_cases_describes_each():
    code, said = called(validate, add_options, "--list")
    assert code == 0 and all(re.fullmatch(r"[\w-]+ +\S.*\.", line) for line in said.splitlines())


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_settings_reach_the_cases_of_which_half_precision_takes_the_small_sizes(run, precision):
    is_quick = precision == "fp32"
    words = ("--backend", "numpy", "--precision", precision, "--streaming", "aa", *["--quick"] * is_quick)
    settings = settings_seen(run, *words)
    assert settings == Settings(True, "numpy", precision, streaming="aa")
    assert settings.compute_table()["streaming"] == "aa"


def test_backend_is_chosen_once_for_all_cases(run):
    assert settings_seen(run).backend in ("cpu", "cuda")


def test_outcome_tells_time_and_device(run):
    _, said = run("--backend", "numpy", "--precision", "fp32", good=good)
    assert re.search(r"\d\.\d s on CPU \(NumPy specification\), backend numpy, fp32, pull", said)


@pytest.mark.parametrize(("case", "code"), [(good, 0), (wrong, 1), (diverging, 1)])
def test_exit_code_tells_whether_all_is_well(run, case, code):
    assert run(case=case)[0] == code


def test_a_case_that_ends_early_does_not_stop_the_others(run):
    code, said = run(diverging=diverging, good=good)
    assert code == 1 and "FAILED: the run diverged at step 7" in said
    assert "1 of 1 comparisons passed; ended early: diverging" in said


def test_a_run_that_is_ended_keeps_what_it_has_found(run, tmp_path):
    def ended(settings):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("--json", tmp_path / "found.json", good=good, ended=ended)
    assert [case["name"] for case in json.loads((tmp_path / "found.json").read_text())] == ["good"]


def test_on_several_ranks_what_ends_a_case_ends_all(run):
    with pytest.raises(DivergedError, match="step 7"):
        run(communicator=SimpleNamespace(rank=1, size=2, local_rank=0), **{"heated-cube": diverging})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--backend", "gpu"), "backend is 'gpu'; allowed: auto, numpy, cpu, cuda"),
        (("--precision", "fp8"), "precision is 'fp8'; allowed: fp64, fp32, fp16"),
        (("--streaming", "ab"), "streaming is 'ab'; allowed: pull, push, aa"),
        (("--ranks", "2"), "--ranks is 2; give a divisor of the ranks that were started, 1"),
        (("--compare-precisions", "--precision", "fp32"), "leave --precision out"),
        (("--list", "god"), "unknown case 'god'; did you mean 'good'"),
    ],
)
def test_bad_options_are_refused(run, arguments, message):
    with pytest.raises(InputError, match=message):
        run(*arguments, good=good)


def test_a_backend_that_is_not_here_is_refused(run, monkeypatch):
    monkeypatch.setattr("muphy_lb.backends.count_gpus", lambda: 0)
    with pytest.raises(BackendError, match="no CUDA GPU"):
        run("--backend", "cuda", good=good)


def test_a_precision_that_the_backend_cannot_do_is_refused(run):
    with pytest.raises(BackendError, match="'fp16' needs a GPU"):
        run("--backend", "cpu", "--precision", "fp16", good=good)


def test_every_precision_that_the_backend_can_do_is_compared_with_fp64(run, tmp_path):
    seen = []

    def rounded(settings):
        """A case that fewer bits change."""
        seen.append((settings.precision, settings.quick))
        value = {"fp64": 1.0, "fp32": 1.001, "fp16": 1.02}[settings.precision]
        return Validation("rounded", "c", (relative("drag", 1.0, value, 0.1),))

    arguments = ("--backend", "numpy", "--compare-precisions", "--report", tmp_path)
    code, said = run(*arguments, rounded=rounded)
    assert seen == [("fp64", False), ("fp32", False), ("fp64", True), ("fp16", True)]
    assert code == 0 and "rounded                 fp16         2.0e-02  1.0e-01  drag" in said
    (record,) = json.loads((tmp_path / "report.json").read_text())
    found = [(each["precision"], round(each["largest"], 6)) for each in record["differences"]]
    assert found == [("fp32", 0.001), ("fp16", 0.02)]
    assert "<td>rounded</td><td>fp16</td><td>2.0e-02</td>" in (tmp_path / "report.html").read_text()


def test_what_is_left_out_is_told_with_the_reason(run, tmp_path):
    def partial(settings):
        """A case that leaves something out."""
        return Validation("partial", "c", (absolute("a", 0.0, 0.0, 0.1),), left_out=("bouzidi walls: need pull",))

    code, said = run("--report", tmp_path, partial=partial)
    assert code == 0 and "left out: bouzidi walls: need pull" in said
    assert "skipped or not judged in part: partial" in said
    assert "bouzidi walls: need pull" in (tmp_path / "report.html").read_text()


def test_a_report_is_a_page_that_needs_no_other_file_beside_the_data_and_every_plot(run, tmp_path):
    folder = tmp_path / "new"
    words = ("--report", folder, "--json", tmp_path / "v.json")
    _, said = run(*words, good=good, wrong=wrong, diverging=diverging)
    assert {path.name for path in folder.iterdir()} == {"report.html", "report.json", "good-1.png"}
    assert "report.html" in said and (tmp_path / "v.json").read_text() == (folder / "report.json").read_text()
    page = (folder / "report.html").read_text()
    (source,) = re.findall(r'src="([^"]*)"', page)
    picture = base64.b64decode(source.removeprefix("data:image/png;base64,"))
    assert picture == (folder / "good-1.png").read_bytes() and picture.startswith(PNG) and "http" not in page
    assert "Author &lt;2020&gt; &amp; others" in page and "Author <2020>" not in page
    assert "<td>u [m/s]</td><td>1</td><td>1</td><td>0.00e+00</td><td>1.0e-01</td>" in page
    assert "1 of 3 comparisons passed" in page and "the run diverged at step 7" in page
    assert page.count('class="FAILED"') == 2 + 2 + 2  # rows, headings, lines of the summary


def test_json_holds_the_plots_and_no_number_that_json_lacks(run, tmp_path):
    gap = Plot("t", "x", "y", (Series("s", [0.0, 1.0], [inf, 2.0]),))
    run("--json", tmp_path / "v.json", wrong=wrong, gap=lambda settings: Validation("gap", "c", plots=(gap,)))

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    first, second = json.loads((tmp_path / "v.json").read_text(), parse_constant=refuse)
    assert first["rows"][1]["computed"] is None and not first["passed"]
    assert second["plots"][0]["series"][0]["y"] == [None, 2.0]


@pytest.mark.parametrize("option", [("--report", "file"), ("--json", "file/found.json")])
def test_a_folder_that_cannot_be_written_is_told_before_anything_runs(run, tmp_path, option):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write"):
        run(option[0], tmp_path / option[1], diverging=lambda settings: pytest.fail("it ran"))


def test_a_series_needs_as_many_x_as_y():
    with pytest.raises(ValueError, match="2 x and 1 y"):
        Series("s", [1, 2], [1])


def test_convergence_plot_has_a_line_of_the_expected_order():
    plot = convergence("t", "n", (8, 16, 32), {"a": (1.0, 0.3, 0.1), "b": (2.0, 1.0, 0.5)}, 2.0)
    points, _, line = plot.series
    assert points.style == "points" and line.y == (1.0, 0.25, 0.0625) and plot.log_x and plot.log_y


@pytest.mark.parametrize("log", [False, True])
def test_a_plot_is_a_picture(log):
    assert draw(Plot("t", "x", "y", (Series("s", [1, 2], [1, 2]),), log, log)).startswith(PNG)
