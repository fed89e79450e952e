"""``muphy-lb bench --paper thelma``: a heated cavity beside the same box without temperature, and what both move."""

import json
from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.bench.command import add_options, bench
from muphy_lb.bench.jobs import job_of_table
from muphy_lb.bench.papers import published
from muphy_lb.bench.papers.table import text
from muphy_lb.bench.stream import ComputeVariant, Effort, field_numbers, measure
from muphy_lb.bench.thermal import thelma
from muphy_lb.lattice.layout import TILE
from muphy_lb.model.model import FieldValue
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.thermal.temperature import temperature_k
from muphy_lb.run.solver import Solver
from tests.vessel import called

QUICK = ("--backend", "numpy", "--steps", "2", "--runs", "3")
SIZE = 12
POPULATIONS = 2 * 19
WIDEST_LINE = 160
ON_NUMPY = ["compute.backend=numpy"]


def call(*arguments) -> str:
    """What the command says."""
    return called(bench, add_options, *arguments, *QUICK)[1]


def measured(folder, *arguments) -> list[dict]:
    """The measurements that the command writes."""
    call("--paper", "thelma", *arguments, "--json", folder / "bench.json")
    return json.loads((folder / "bench.json").read_text())["measurements"]


def cavity(edge=SIZE):
    """The job of a cavity on the specification's backend."""
    return job_of_table(thelma.cavity_table(edge), ON_NUMPY, SerialCommunicator())


def timed(job, precision="fp32", streaming="pull"):
    """One short measurement."""
    return measure(
        job.case, job.nodes, ComputeVariant(precision, streaming, "lexicographic"), Effort(2, 1), SerialCommunicator()
    )


@pytest.fixture(scope="module")
def heated():
    """A cavity of one tile of nodes, timed."""
    return timed(cavity(16))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """One edge in both ways of streaming."""
    return measured(tmp_path_factory.mktemp("thelma"), "--size", SIZE, "--streaming", "pull,aa")


@pytest.mark.parametrize(("precision", "gb_s"), [("fp32", 192.0), ("fp64", 384.0), ("fp16", 116.0)])
def test_the_model_counts_48_numbers_of_which_38_are_populations(heated, precision, gb_s):
    fast = replace(heated, precision=precision, mflups=1000.0, copy_tb_s=0.24, ranks=1)
    comparison = thelma.CavityTiming(16, fast, fast)
    assert comparison.model_gb_s == pytest.approx(gb_s, rel=1e-12)
    assert comparison.model_share == pytest.approx(gb_s / 240.0, rel=1e-12)


def test_ranks_share_what_the_model_counts(heated):
    alone, shared = (thelma.CavityTiming(16, replace(heated, ranks=n), heated) for n in (1, 4))
    assert alone.model_share == pytest.approx(4 * shared.model_share, rel=1e-12)


def test_the_cavity_is_heated_and_its_heat_moves_it():
    job = cavity()
    simulation = Solver(job.case, SerialCommunicator(), job.nodes)
    simulation.step(20)
    temperature = temperature_k(simulation)
    assert -0.5 <= temperature.min() < -0.2 and 0.2 < temperature.max() <= 0.5
    assert simulation.health().max_speed > 1e-6


def test_the_box_beside_it_is_the_same_without_temperature_and_lift():
    job = cavity()
    plain = thelma.without_temperature(job)
    simulation = Solver(plain.case, SerialCommunicator(), plain.nodes)
    simulation.step(20)
    assert not simulation.physics and simulation.health().max_speed == 0.0
    assert plain.nodes is job.nodes and plain.case.lattice == job.case.lattice and plain.case.fluid == job.case.fluid


def test_the_edges_of_the_paper_stand_beside_its_table(heated):
    timings = [thelma.CavityTiming(edge, replace(heated, mflups=1000.0 + edge), heated) for edge in (128, 96, 128)]
    rows = thelma.rows(timings)
    assert rows["MLUPS"] == (1096.0, 1128.0, None, None, None, None)
    said = text(published.OBRECHT_4, "NVIDIA H200", rows)
    assert max(map(len, said.splitlines())) <= WIDEST_LINE and "64.7" in said
    assert thelma.PUBLISHED_SHARE == {96: 83.6, 128: 64.7, 160: 79.9, 192: 87.8, 224: 81.0, 256: 78.9}


def test_both_runs_are_timed_both_ways_and_compared_with_the_paper(found):
    for kind in ("heated", "isothermal"):
        assert [(m[kind]["precision"], m[kind]["streaming"]) for m in found] == [("fp32", "pull"), ("fp32", "aa")]
    for m in found:
        assert m["ratio"] == m["heated"]["mflups"] / m["isothermal"]["mflups"]
        assert m["heated"]["n_fluid"] == m["isothermal"]["n_fluid"] == SIZE**3
        assert "buoyancy" in m["heated"]["kernel"] and "buoyancy" not in m["isothermal"]["kernel"]
    for m in found:
        assert m["model_gb_s"] == pytest.approx(48 * 4 * m["heated"]["mflups"] / 1e3, rel=1e-12)
        assert m["model_share"] == pytest.approx(m["model_gb_s"] / m["heated"]["copy_tb_s"] / 1e3, rel=1e-12)
        assert m["published_share"] is None  # of an edge that the paper has not
    for m in found:
        plain = m["isothermal"]
        assert plain["field_bytes_per_update"] == 0.0
        assert plain["numbers_per_update"] == plain["numbers_asked"] == POPULATIONS


def test_without_a_size_several_edges_are_timed(tmp_path, monkeypatch):
    monkeypatch.setattr(thelma, "EDGES", (4, 6))
    many = measured(tmp_path)
    assert [(m["edge"], m["heated"]["n_fluid"]) for m in many] == [(4, 64), (6, 216)]


class Watched:
    """A field that notes whether it was read or written."""

    def __init__(self, values, notes, name):
        self.values, self.notes, self.name = values, notes, name

    def __getitem__(self, n):
        self.notes.add(("read", self.name))
        return self.values[n]

    def __setitem__(self, n, value):
        self.notes.add(("written", self.name))
        self.values[n] = value


def watched(parameters, n_nodes, notes) -> dict:
    """Parameters by name with fields that note what happens to them."""
    return {
        name: Watched(np.zeros(n_nodes), notes, value.field) if isinstance(value, FieldValue) else value
        for name, value in parameters.items()
    }


def test_the_numbers_of_fields_are_those_that_the_equations_touch():
    model = Solver(cavity(4).case, SerialCommunicator()).engine.model
    stencil = next(stage for stage in model.after if model.kernel_of(stage) == "advance")
    collided, carried, n = set(), set(), np.arange(3)
    model.collision.reference(np.zeros((19, 3)), n, model.lattice, watched(model.parameters, 3, collided))
    new = stencil.operators[0].reference(np.zeros((19, 3)), n, model.lattice, watched(stencil.parameters, 3, carried))
    least, asked = field_numbers(model)
    assert new.shape == (3,)  # one new value a node
    assert least == len(collided) + len(carried) + 1 + 1  # and the node's own old one
    assert asked - least == 18


def test_bytes_of_fields_are_their_47_numbers_the_stencil_s_table_and_ghosts(heated):
    assert (heated.numbers_per_update, heated.numbers_asked) == (POPULATIONS + 9, POPULATIONS + 9 + 18)
    assert heated.n_fluid == TILE
    # Ghosts beyond the two walls with a temperature: five links of every node beside them. The index of a term has 8
    # bytes, its weight and its value 4 each, as have the constant and the sum.
    ghosts = 2 * 5 * 16**2 * (4 * (8 + 4 + 4) + 4 + 4) / TILE
    assert heated.field_bytes_per_update == pytest.approx(9 * 4 + 18 * 8 + ghosts, rel=1e-12)
    parts = POPULATIONS * 4 + heated.table_bytes_per_update + heated.field_bytes_per_update
    assert heated.bytes_per_update == pytest.approx(parts, rel=1e-12)


def test_fields_are_computed_with_in_single_precision_when_populations_are_stored_in_half(heated):
    half = timed(cavity(16), precision="fp16")
    assert half.field_bytes_per_update == heated.field_bytes_per_update
    assert heated.bytes_per_update - half.bytes_per_update == POPULATIONS * 2
