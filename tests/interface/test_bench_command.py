"""``muphy-lb bench``: what it measures, writes and says, and how it ends."""

import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from muphy_lb.__main__ import main
from muphy_lb.backends import copying, make_backend
from muphy_lb.backends.numpy.backend import NumpyBackend
from muphy_lb.base.errors import InputError, MuphyError
from muphy_lb.base.precision import FP32, FP64
from muphy_lb.bench import peak
from muphy_lb.bench import whole as whole_runs
from muphy_lb.bench.built_in import BUILT_IN, built_in_table
from muphy_lb.bench.command import add_options, bench
from muphy_lb.bench.papers import published, table1
from muphy_lb.bench.stream import Measurement
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.geometry.store import write_geometry
from muphy_lb.lattice import lattice_named
from muphy_lb.lattice.layout import TILE, whole
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.loop import STOPPED_EXIT_CODE
from muphy_lb.run.verdict import DOUBTFUL_EXIT_CODE
from tests.conftest import HANGS_S, ROOT
from tests.vessel import called, command_on

SIZES = {"box": 6, "spheres": 12, "artery": 4}
QUICK = ("--backend", "numpy", "--steps", "2", "--runs", "3")
POPULATIONS = 2 * 19 * 4
WIDEST_LINE = 160
CASE = """
title = "duct"
[geometry]
shape = "square_duct"
spacing_m = 1.0
options = {length = 5, side = 4}
[fluid]
density_kg_m3 = 1.0
kinematic_viscosity_m2_s = 0.1
[lattice]
time_step_s = 1.0
[compute]
streaming = "aa"
[run]
steps = 1
"""
IN_THE_SIMULATOR = """
import sys
from muphy_lb.__main__ import main
from muphy_lb.backends import copying
from muphy_lb.bench import peak, stream
from muphy_lb.bench.papers import table1, toelke
copying.COPY_BYTES, copying.COPY_REPETITIONS = 1 << 12, 1
table1.PAPER_BOX, table1.ALIGNED_BOX, table1.RECORDED = (6, 5, 4), (8, 4, 4), 2
peak.BOX, peak.ROUNDS = (3, 3, 3), 2
toelke.published.TOELKE_MESHES, toelke.CAVITY_SIZE = (36,), 6
stream.STEPS_ENQUEUED, stream.ENQUEUE_REPETITIONS = 2, 1
quick = ["--backend", "cuda", "--steps", "2", "--runs", "1", "--json"]
main(["bench", "--paper", "table1", "--size", "3", *quick, sys.argv[1]])
main(["bench", "--geometry", "box", "--size", "3", "--threads", "32,64", *quick, sys.argv[2]])
main(["bench", "--paper", "toelke", "--threads", "128,32", *quick, sys.argv[3]])
"""


@pytest.fixture(autouse=True)
def _small_copies_on_devices(monkeypatch):
    monkeypatch.setattr(copying, "COPY_BYTES", 1 << 16)


def call(*arguments, communicator=None):
    """The command: exit code and what was said."""
    return called(bench, add_options, *arguments, communicator=communicator)


def measured(folder, *arguments) -> dict:
    """The JSON that the command writes."""
    assert call(*arguments, *QUICK, "--json", folder / "bench.json")[0] == 0
    return json.loads((folder / "bench.json").read_text())


def refusal(*arguments, **options) -> str:
    """Text of the error that ends the command."""
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)
    return str(caught.value)


@pytest.fixture(scope="module")
def case_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("case") / "duct.toml"
    path.write_text(CASE)
    return path


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_geometry_is_timed_and_has_ten_million_nodes_by_default(name, tmp_path):
    size = 2 * SIZES[name]
    (found,) = measured(tmp_path, "--geometry", name, "--size", size)["measurements"]
    assert found["title"] == name and 0.0 < found["mflups_low"] <= found["mflups"] <= found["mflups_high"]
    assert found["n_fluid"] * (BUILT_IN[name].size / size) ** 3 == pytest.approx(1.02e7, rel=0.06)


def test_the_artery_has_an_inlet_and_outlets():
    kinds = [sorted(opening.keys() - {"name"}) for opening in built_in_table("artery", None)["openings"]]
    assert kinds == [["profile", "velocity_m_s"]] + 4 * [["pressure_pa"]]


def test_the_json_says_what_was_measured_where_and_when(tmp_path):
    record = measured(tmp_path, "--geometry", "box", "--size", 4)
    assert record.keys() == {"title", "date", "version", "commit", "command", "device", "measurements", "tables"}
    assert record["device"] == NumpyBackend.device and record["date"].endswith("+00:00")
    (found,) = record["measurements"]
    assert found.keys() == {field.name for field in fields(Measurement)} | {"title"}


def test_every_combination_of_what_is_asked_for_is_timed_once(tmp_path):
    asked = ("--precision", "fp32,fp16", "--streaming", "pull,aa,pull", "--order", "lexicographic,curve")
    found = measured(tmp_path, "--geometry", "box", "--size", 4, *asked)["measurements"]
    choices = [(m["precision"], m["streaming"], m["order"]) for m in found]
    assert len(choices) == len(set(choices)) == 8 and ("fp16", "aa", "curve") in choices


def test_what_is_not_asked_for_is_the_case_s(case_file, tmp_path):
    (found,) = measured(tmp_path, case_file)["measurements"]
    assert (found["title"], found["streaming"], found["precision"], found["n_fluid"]) == ("duct", "aa", "fp32", 80)


def test_bytes_of_an_update_and_of_a_node_are_populations_and_tables(tmp_path):
    found = measured(tmp_path, "--geometry", "box", "--size", 16, "--streaming", "pull,aa")["measurements"]
    pull, in_place = (m["bytes_per_update"] - POPULATIONS for m in found)
    # The specification keeps 8 bytes for each of 18 directions, of whole tiles.
    padded = whole(16**3, TILE) / 16**3
    assert (pull, in_place) == (18 * 8 * padded, 9 * 8 * padded)
    for m in found:
        assert m["table_bytes_per_update"] == m["bytes_per_update"] - POPULATIONS
        assert m["moved_tb_s"] == pytest.approx(1e-6 * m["mflups"] * m["bytes_per_update"], rel=1e-12)
        assert m["fraction"] == pytest.approx(m["moved_tb_s"] / m["copy_tb_s"], rel=1e-12)
    pull, in_place = (m["bytes_per_node"] - m["table_bytes_per_node"] for m in found)
    assert POPULATIONS < pull < 3 * POPULATIONS and pull - in_place == pytest.approx(POPULATIONS / 2, rel=0.05)


def test_no_line_is_wider_than_a_terminal(tmp_path):
    _, said = call("--geometry", "artery", "--size", 4, *QUICK)
    assert max(map(len, said.splitlines())) <= WIDEST_LINE and "artery" in said


def test_copies_multiply_the_nodes_of_a_built_in_case_whose_keys_can_be_changed(tmp_path):
    asked = ("--size", 4, "--tile", "3,2,1", "--set", "lattice.collision=mrt")
    (found,) = measured(tmp_path, "--geometry", "box", *asked)["measurements"]
    assert (found["n_fluid"], found["box"]) == (6 * 64, [12, 8, 4]) and found["kernel"].startswith("D3Q19 mrt")


@pytest.mark.parametrize("ends", ["periodic", "open"])
def test_a_prepared_geometry_gets_a_flow(ends, tmp_path):
    path = tmp_path / "pipe.h5"
    nodes = build_nodes(build_shape("pipe", length=8, radius=3.2, spacing_m=1e-3, ends=ends))
    write_geometry(path, nodes)
    (found,) = measured(tmp_path, "--geometry", path)["measurements"]
    assert (found["title"], found["n_fluid"]) == ("pipe", nodes.n_nodes)


def test_the_rows_of_toelke_s_paper_stand_beside_his_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(peak, "MATRIX", 64)
    arguments = ("--paper", "toelke", "--set", "geometry.options.size=36", *QUICK, "--json", tmp_path / "toelke.json")
    _, said = call(*arguments)
    record = json.loads((tmp_path / "toelke.json").read_text())
    (speeds,), (shares,) = (record["tables"][table.key].values() for table in (published.TOELKE_2, published.TOELKE_3))
    ((gflops, _, copy_gb_s),) = record["tables"][published.TOELKE_1.key].values()
    assert speeds == [m["mflups"] for m in record["measurements"][:3]] and gflops > 0
    assert shares[0] == pytest.approx(speeds[0] * 90 / gflops / 10) and shares[3] == pytest.approx(
        speeds[2] * 76 / copy_gb_s / 10
    )
    assert all(number in said for number in ("670", "568", "527", "59", "46"))


def test_blocks_belong_to_devices_that_have_them(tmp_path):
    text = refusal("--geometry", "box", "--size", 4, "--threads", "32", "--backend", "numpy")
    assert "threads is 32" in text and "leave it out" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("exactly one of", "--geometry NAME")),
        (("case.toml", "--geometry", "box"), ("exactly one of",)),
        (("--geometry", "sphere"), ("'sphere'", "'spheres'")),
        (("--paper", "toelk"), ("'toelk'", "'toelke'")),
        (("--geometry", "box", "--backend", "cud"), ("'cud'", "'cuda'")),
        (("--geometry", "box", "--size", "2", "--precision", "fp23"), ("'fp23'", "'fp32'")),
        (("--geometry", "box", "--size", "2", "--streaming", "pul"), ("'pul'", "'pull'")),
        (("--geometry", "box", "--size", "2", "--order", "curv"), ("'curv'", "'curve'")),
        (("--geometry", "box", "--size", "2", "--threads", "32,x"), ("'32,x'", "auto,64,128")),
        (("--paper", "table1", "--threads", "32"), ("--threads goes with whole time steps",)),
        (("--geometry", "box", "--size", "0"), ("--size is 0", "above zero")),
        (("--geometry", "box", "--runs", "0"), ("--runs is 0", "above zero")),
        (("case.toml", "--size", "4"), ("--size goes with a built-in",)),
        (("--paper", "toelke", "--tile", "2,2,2"), ("--tile goes with a geometry",)),
        (("--paper", "toelke", "--size", "4"), ("--size goes with", "thelma")),
        (("--paper", "table1", "--order", "curve"), ("--order goes with whole time steps",)),
        (("--geometry", "box", "--size", "2", "--tile", "2,2"), ("'2,2'", "4,4,4")),
        (("--geometry", "box", "--size", "2", "--set", "run.step=3"), ("step", "steps")),
        (("--geometry", "box", "--size", "2", "--set", "nonsense"), ("'nonsense'", "section.key=value")),
    ],
)
def test_what_cannot_be_run_is_refused_with_a_remedy(arguments, words):
    text = refusal(*arguments)
    assert all(word in text for word in words), text


def bench_on(communicator, *words) -> tuple[int, str]:
    """The command on some ranks, with a quick measure of the memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copying, "COPY_BYTES_ON_HOST", 1 << 16)
        return command_on(communicator, "bench", *words)


def test_two_ranks_share_a_benchmark(on_ranks, tmp_path):
    path = tmp_path / "two.json"
    code, _ = on_ranks(2, bench_on, "--geometry", "box", "--size", 8, *QUICK, "--json", path)
    (found,) = json.loads(path.read_text())["measurements"]
    assert (code, found["ranks"], found["n_fluid"]) == (0, 2, 512)


class Elsewhere(NumpyBackend):
    """A device that is not the host, as far as copying goes."""

    on_host = False


@pytest.mark.parametrize("cls", [NumpyBackend, Elsewhere])
def test_a_copy_has_a_bandwidth(cls):
    assert 1e-6 < copying.copy_bandwidth_tb_s(cls(lattice_named("D3Q19"), FP32)) < 1e3


def kernels_of_table_1():
    """The kernels on a tiny box, by the specification, with different numbers in both buffers."""
    lattice = lattice_named("D3Q19")
    addresses = table1.box_addresses((4, 3, 5), lattice)
    kernels = table1.Kernels(make_backend("numpy", lattice, FP64), addresses)
    kernels.buffers[1][:] = -7.0
    locations = np.arange(19)
    own = addresses.resolve(0, tuple(locations), np.arange(60))
    away = addresses.resolve(0, addresses.patterns[0].store, np.arange(60))
    return kernels, own, away


@pytest.mark.parametrize("row", [row for row in table1.ROWS if not row.computes], ids=lambda row: row.name)
def test_kernels_of_table_1_that_do_not_collide_only_move(row):
    kernels, own, away = kernels_of_table_1()
    kernels.launches(row)[0]()
    before, after = kernels.buffers
    np.testing.assert_array_equal(after[away if row.scatters else own], before[own])


@pytest.mark.parametrize("row", [row for row in table1.ROWS if row.computes], ids=lambda row: row.name)
def test_kernels_of_table_1_that_collide_keep_the_mass_of_a_node_and_nothing_else(row):
    kernels, own, away = kernels_of_table_1()
    kernels.launches(row)[0]()
    before, after = kernels.buffers[0][own], kernels.buffers[1][away if row.scatters else own]
    np.testing.assert_allclose(after.sum(axis=0), before.sum(axis=0), atol=1e-15)
    assert np.abs(after - before).max() > 1e-4


def test_table_1_counts_the_table_where_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "PAPER_BOX", (TILE, 1, 1))
    monkeypatch.setattr(table1, "ALIGNED_BOX", (8, 4, 4))
    record = measured(tmp_path, "--paper", "table1", "--size", 4)
    found, tables = record["measurements"], record["tables"]
    assert [m["bytes_per_update"] for m in found[:4]] == 2 * [POPULATIONS, POPULATIONS + 18 * 8]
    for m in found:
        assert m["gb_s"] == pytest.approx(m["bytes_per_update"] * m["n_nodes"] / m["us_per_launch"] / 1e3, rel=1e-12)
    costs = tables[published.SCATTERING.key]
    assert list(costs) == [f"{TILE} x 1 x 1", "8 x 4 x 4", "4 x 4 x 4"]
    assert costs["8 x 4 x 4"] == [found[k + 1]["us_per_launch"] / found[k]["us_per_launch"] for k in (4, 6)]
    assert [row[0] for row in tables[published.TABLE_I.key].values()] == [m["us_per_launch"] / 1e3 for m in found[:4]]


def test_table_1_needs_one_process():
    class TwoRanks(SerialCommunicator):
        size = 2

    assert "one process" in refusal("--paper", "table1", communicator=TwoRanks())


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """JSON of Table I, a box and Toelke's tables on the CUDA backend in Numba's simulator, in a process of its own."""
    paths = [tmp_path_factory.mktemp("simulated") / name for name in ("table1.json", "box.json", "toelke.json")]
    env = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", IN_THE_SIMULATOR, *map(str, paths)]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=HANGS_S)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(path.read_text()) for path in paths]


@pytest.mark.night
def test_the_kernels_of_table_1_run_in_the_simulator(simulated):
    found = simulated[0]["measurements"]
    assert [m["kernel"] for m in found] == 3 * [row.name for row in table1.ROWS]
    assert [m["n_nodes"] for m in found] == 4 * [120] + 4 * [128] + 4 * [27] and all(m["mflups"] > 0 for m in found)


@pytest.mark.night
def test_a_device_tells_runs_launch_shape_and_launch_time(simulated):
    small, found = simulated[1]["measurements"]
    assert found["device"] == "CUDA simulator" and (small["shape"], found["shape"]) == ("single 32", "single 64")
    assert found["runs_per_warp"] > 1 and found["launch_us"] > 0


@pytest.mark.night
def test_a_device_fills_the_columns_of_toelke_s_table_of_blocks(simulated):
    ((mesh, row),) = simulated[2]["tables"][published.TOELKE_5.key].items()
    assert mesh == "36 x 36" and [number is not None for number in row] == [True, False, True, False, False]


@pytest.fixture
def started(monkeypatch):
    """Commands that ``--whole`` starts, each with what the folder of its kernels holds; none of them is run."""
    found = []

    def run(line, env=None, **_):
        if env is None:  # git, for the commit
            return subprocess.CompletedProcess(line, 0, "", "")
        kept = Path(env["NUMBA_CACHE_DIR"])
        found.append((line, sorted(path.name for path in kept.glob("*")) if env["MUPHY_CACHE"] == str(kept) else None))
        kept.mkdir(exist_ok=True)
        (kept / "kernel").touch()
        summary = Path(line[line.index("-o") + 1]) / "summary.json"
        summary.parent.mkdir(exist_ok=True)
        profile = {"phases_s": {"stepping": [1.0, 2.0]}, "wall_s": [3.0, 4.0], "peak_memory_mib": [5.0, 6.0]}
        summary.write_text(json.dumps(dict.fromkeys(whole_runs.TOLD, 1) | {"profile": profile}))
        return subprocess.CompletedProcess(line, DOUBTFUL_EXIT_CODE, "", "")  # as of a short run

    monkeypatch.setattr(whole_runs.subprocess, "run", run)
    return found


def test_whole_runs_start_with_nothing_kept_and_then_with_what_the_first_has_left(started, tmp_path, capsys):
    words = ["bench", "case.toml", "--whole", "--launcher", "mpirun -n 2", "--set", "run.steps=3"]
    assert main([*words, "--json", str(tmp_path / "found.json")]) == 0
    assert [kept for _, kept in started] == [[], ["kernel"]]
    assert started[0][0][:2] == ["mpirun", "-n"] and "--set=run.steps=3" in started[0][0]
    measured = json.loads((tmp_path / "found.json").read_text())["measurements"]
    assert [one["start"] for one in measured] == ["first", "second"]
    assert all(one["phases_s"]["stepping"] == [1.0, 2.0] and one["command_s"] >= 0.0 for one in measured)
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("stepping [s]"))
    assert line.split()[-2:] == ["2.00", "2.00"]


@pytest.mark.parametrize(("code", "has_begun"), [(5, False), (STOPPED_EXIT_CODE, True)])
def test_a_second_start_that_fails_is_not_taken_for_the_first(started, monkeypatch, code, has_begun):
    succeeds = whole_runs.subprocess.run

    def second_fails(line, env=None, **_):
        is_second = env is not None and bool(started)
        done = None if is_second and not has_begun else succeeds(line, env)
        return subprocess.CompletedProcess(line, code, "", "too little memory") if is_second else done

    monkeypatch.setattr(whole_runs.subprocess, "run", second_fails)
    with pytest.raises(
        MuphyError, match=f"ended with code {code}{'' if has_begun else ' and no summary'}:\ntoo little"
    ):
        call("case.toml", "--whole")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["case.toml", "--whole", "--tile", "2,2,2"], "--tile goes with time steps, without --whole"),
        (["case.toml", "--launcher", "mpirun"], "--launcher goes with --whole"),
        (["nowhere.toml", "--whole"], "the run ended with code 2 and no summary"),
    ],
)
def test_whole_refuses_what_it_cannot_do(words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MuphyError, match=told):
        call(*words)
