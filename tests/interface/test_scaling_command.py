"""``muphy-lb scaling``: what it measures, writes and predicts, and how it ends."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from matplotlib.image import imread

from muphy_lb.base.errors import InputError
from muphy_lb.bench.scaling import table2
from muphy_lb.bench.scaling.command import add_options, scaling
from tests.vessel import called, command_on, write_case

TEMPLATES = Path(__file__).resolve().parents[2] / "scripts" / "slurm"
ON_NUMPY = ("--set", "compute.backend=numpy")  # nothing to compile
QUICK = ("--steps", "3", "--runs", "3")
SPHERES = ("--geometry", "spheres", "--size", "18")
ALL_FILES = ["prediction.png", "scaling.json", "scaling.png", "split.png"]
WIDEST_LINE = 160
LOGGED = ("partition:", "halo exchange:")


def call(*arguments):
    """The command on one rank: exit code and what was said."""
    return called(scaling, add_options, *arguments)


def refusal(*arguments) -> str:
    """Text of the error that ends the command on one rank."""
    with pytest.raises(InputError) as caught:
        call(*arguments)
    return str(caught.value)


@pytest.fixture(scope="module")
def strong(on_ranks, tmp_path_factory):
    """A finished strong study on one and two ranks: what was said, and the folder of its files."""
    folder = tmp_path_factory.mktemp("strong")
    asked = ("--ranks", "2,1", "--transport", "host,auto", "--predict", "--json", folder / "scaling.json")
    code, said = on_ranks(2, command_on, "scaling", *SPHERES, *ON_NUMPY, *QUICK, *asked, "--plots", folder)
    assert code == 0
    return said, folder


@pytest.fixture(scope="module")
def record(strong):
    return json.loads((strong[1] / "scaling.json").read_text())


@pytest.fixture(scope="module")
def weak(on_ranks, tmp_path_factory):
    """The points of a finished weak study of a vessel on one and two ranks, by rank."""
    folder = tmp_path_factory.mktemp("weak")
    asked = ("--mode", "weak", "--json", folder / "weak.json")
    assert on_ranks(2, command_on, "scaling", write_case(folder), *ON_NUMPY, *QUICK, *asked)[0] == 0
    return json.loads((folder / "weak.json").read_text())["measurements"]


def test_every_number_of_ranks_is_measured_once_for_each_transport(record):
    found = [(m["ranks"], m["transport_asked"]) for m in record["measurements"]]
    assert found == [(1, "host"), (2, "host"), (2, "auto")]
    assert [m["transport"] for m in record["measurements"]] == ["none", "host", "host"]
    assert len({m["n_nodes"] for m in record["measurements"]}) == 1
    assert all(m["most_nodes"] == pytest.approx(m["n_nodes"] / m["ranks"], rel=0.1) for m in record["measurements"])


def test_ranks_with_neighbours_send_and_efficiency_is_that_of_a_rank(record):
    one, *two = record["measurements"]
    assert (one["efficiency"], one["speed_up"]) == (1.0, 1.0)
    for m in two:
        assert m["efficiency"] == pytest.approx(m["mflups"] / one["mflups"] / 2, rel=1e-12)
        assert m["speed_up"] == pytest.approx(m["mflups"] / one["mflups"], rel=1e-12)
    assert (one["most_halo_bytes"], one["edge_share"], one["exchange_ms"]) == (0, 0, 0)
    assert all(m["most_halo_bytes"] > 0 and m["edge_share"] > 0 and m["exchange_ms"] > 0 for m in two)
    assert all(m["compute_ms"] > 0 for m in record["measurements"])


def test_the_json_says_what_ran_where_and_when(record):
    assert {"title", "date", "version", "commit", "device", "measurements", "mode"} <= record.keys()
    assert (record["title"], record["mode"], "tables" in record) == ("spheres", "strong", False)


def test_both_flows_are_predicted_for_all_series_up_to_4096_gpus(record):
    for item in record["forecasts"]:
        counts = [prediction["gpus"] for prediction in item["predictions"]]
        assert counts == 2 * [2**k for k in range(3, 13)] and item["points"] == [1, 2]
        assert {p["n_nodes"] for p in item["predictions"]} == {record["measurements"][0]["n_nodes"], 1e11}
    assert [item["name"] for item in record["forecasts"]] == ["host", "auto (host)"]


def test_the_study_is_told_once_with_its_assumptions_and_files(strong):
    assert "assumed:" in strong[0] and "25 GB/s per GPU and 5 us" in strong[0]
    assert "predicted step time against measured" in strong[0]
    lines = [line for line in strong[0].splitlines() if not line.startswith(LOGGED)]
    assert sum(line.startswith("strong scaling:") for line in lines) == 1 and max(map(len, lines)) <= WIDEST_LINE
    assert sorted(path.name for path in strong[1].iterdir()) == ALL_FILES


@pytest.mark.parametrize("name", [name for name in ALL_FILES if name.endswith(".png")])
def test_picture_is_not_blank(strong, name):
    assert imread(strong[1] / name)[..., :3].std() > 0.02


def test_weak_scaling_gives_every_rank_as_many_nodes(weak):
    one, two = weak
    assert two["n_nodes"] == pytest.approx(2 * one["n_nodes"], rel=0.15)
    assert two["efficiency"] == pytest.approx(two["mflups"] / 2 / one["mflups"], rel=1e-12)


def test_the_paper_s_table_stands_beside_ours(monkeypatch):
    monkeypatch.setattr(table2, "SIZE", 4)
    code, said = call("--paper", "table2", *ON_NUMPY, *QUICK)
    assert code == 0 and all(
        word in said for word in ("C870", "252", "955", "timed over 3 steps, of the paper's 10,000")
    )


def test_the_paper_s_box_stands_beside_ours(tmp_path):
    asked = ("--paper", "table2-box", "--size", "4", "--json", tmp_path / "box.json")
    code, said = call(*asked, *ON_NUMPY, *QUICK)
    assert code == 0 and "8 x 4 x 4" in said and all(word in said for word in ("7.5", "21", "of the paper's 1,000"))
    record = json.loads((tmp_path / "box.json").read_text())
    ((_, mflups, seconds),) = record["tables"]["Bernaschi et al. 2009, 256 x 128 x 128"].values()
    assert seconds == pytest.approx(256 * 128 * 128 * 1000 / (1e6 * mflups))


def test_the_paper_s_vessel_has_four_million_nodes():
    from muphy_lb.bench.built_in import BUILT_IN

    # The default size has 10.2 million (held by the tests of bench), and nodes grow with the cube of the size.
    assert 1.02e7 * (table2.SIZE / BUILT_IN[table2.GEOMETRY].size) ** 3 == pytest.approx(4e6, rel=0.05)


def test_one_rank_alone_predicts_by_the_link_only(tmp_path):
    asked = ("--predict", "--link-gb-s", "50", "--latency-us", "2", "--gpu-gb", "80", "--gpus-per-node", "4")
    _, said = call("--geometry", "box", "--size", "6", *ON_NUMPY, *QUICK, *asked)
    assert "50 GB/s per GPU and 2 us" in said and "into 80 GB each" in said and "up to 4 GPUs" in said
    assert "measure two ranks" in said


def test_too_few_ranks_name_the_command_to_type():
    text = refusal(*SPHERES, "--ranks", "1,4", "--set", "fluid.density_kg_m3=2.0", "--predict")
    assert "asks for 4 and 1 rank was started" in text
    asked = "--geometry spheres --size 18 --ranks 1,4 --set fluid.density_kg_m3=2.0 --predict"
    assert text.endswith(f"./run_mpi.sh -n 4 scaling {asked}")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--geometry", "sphere"), ("'sphere'", "'spheres'")),
        (("--paper", "table1"), ("'table1'", "'table2'")),
        (("--geometry", "box", "--mode", "week"), ("'week'", "'weak'")),
        (("--geometry", "box", "--ranks", "1,two"), ("'two'", "1,2,4")),
        (("--geometry", "box", "--ranks", "0"), ("'0'", "above zero")),
        (("--geometry", "box", "--size", "2", "--transport", "ncl"), ("'ncl'", "'nccl'")),
        (("--geometry", "box", "--steps", "0"), ("--steps is 0", "above zero")),
        (("--geometry", "box", "--latency-us", "5"), ("--latency-us goes with --predict",)),
        (("--geometry", "box", "--predict", "--link-gb-s", "0"), ("--link-gb-s is 0", "above zero")),
        (("--paper", "table2", "--mode", "weak"), ("--mode weak goes with",)),
    ],
)
def test_what_cannot_be_run_is_refused_with_a_remedy(arguments, words):
    text = refusal(*arguments)
    assert all(word in text for word in words), text


@pytest.mark.night
def test_an_error_on_some_of_the_ranks_is_told_once_and_ends_all(mpirun):
    done = mpirun(2, ["-m", "muphy_lb", "scaling", *SPHERES, "--ranks", "1,4"])
    assert done.returncode == 2 and done.stderr.count("asks for 4 and 2 ranks were started") == 1


def test_a_failure_of_the_first_ranks_ends_those_that_wait(mpirun):
    asked = ("--ranks", "1,2", "--set", "run.max_mach=1e-30")
    done = mpirun(2, ["-m", "muphy_lb", "scaling", *SPHERES, *ON_NUMPY, *QUICK, *asked])
    assert done.returncode != 0 and done.stderr.count("muphy-lb: error:") == 1


@pytest.mark.parametrize("path", sorted(TEMPLATES.iterdir()), ids=lambda path: path.stem)
def test_a_template_is_sound_and_stops_before_its_limit(path):
    assert subprocess.run(["bash", "-n", path]).returncode == 0
    assert re.search(r"^#SBATCH --signal=USR1@\d+$", path.read_text(), re.MULTILINE)


@pytest.mark.parametrize(("element", "mode"), [("0", "strong"), ("1", "weak")])
def test_each_element_of_the_array_job_studies_one_mode(element, mode, tmp_path):
    stub = tmp_path / "run_mpi.sh"
    stub.write_text('#!/bin/sh\necho "$@"\n')
    stub.chmod(0o755)
    env = os.environ | {"SLURM_ARRAY_TASK_ID": element, "SLURM_JOB_NUM_NODES": "2", "SLURM_CPUS_PER_TASK": "8"}
    command = ["bash", TEMPLATES / "scaling.sbatch", "case.toml", "--ranks", "1,2"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    folder = f"out/scaling-{mode}-2"
    files = f"--json {folder}/scaling.json --plots {folder}"
    assert done.stdout == f"scaling case.toml --ranks 1,2 --mode {mode} --predict {files}\n"
    assert (tmp_path / folder / "scaling.txt").read_text() == done.stdout


def test_an_earlier_study_is_told_and_predicted_again(strong, record, tmp_path):
    kept = strong[1] / "scaling.json"
    code, said = call(*SPHERES, *ON_NUMPY, "--measured", kept, "--predict", "--json", tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text())
    assert code == 0 and "predicted step time against measured" in said
    assert again["measurements"] == record["measurements"]
    assert again["forecasts"] == record["forecasts"]


@pytest.mark.parametrize("text", ["{", "{}", '{"mode": "strong", "measurements": []}'])
def test_a_file_without_a_study_is_refused(text, tmp_path):
    (tmp_path / "no.json").write_text(text)
    assert "no.json" in refusal(*SPHERES, "--measured", tmp_path / "no.json")


def test_what_is_measured_cannot_be_chosen_again(tmp_path):
    assert "--ranks goes with what is measured" in refusal(*SPHERES, "--measured", tmp_path, "--ranks", "2")
