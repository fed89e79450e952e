"""``muphy-lb bench --paper schreiber``: dam and cavity in all cells of a box, and the stages of a step."""

import json

import numpy as np
import pytest

from muphy_lb.backends import copying
from muphy_lb.bench.command import add_options, bench
from muphy_lb.bench.free_surface import schreiber
from muphy_lb.bench.jobs import job_of_table
from muphy_lb.bench.papers import published
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver
from tests.vessel import called

EDGE, SCENE = 6, (6, 6, 3)


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """The JSON of the benchmark by the specification, in tiny boxes."""
    path = tmp_path_factory.mktemp("schreiber") / "bench.json"
    words = ("--paper", "schreiber", "--size", EDGE, "--backend", "numpy", "--steps", 2, "--runs", 1, "--json", path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copying, "COPY_BYTES_ON_HOST", 1 << 16)
        patch.setattr(schreiber, "SCENE", SCENE)
        patch.setattr(schreiber, "TRACED_STEPS", 2)
        called(bench, add_options, *words)
    return json.loads(path.read_text())


def test_a_third_of_the_dam_is_liquid():
    job = job_of_table(schreiber.dam_table((12, 12, 6)), ["compute.backend=numpy"], SerialCommunicator())
    simulation = Solver(job.case, SerialCommunicator(), job.nodes)
    assert np.mean(simulation.field("fill")) == pytest.approx(1 / 3)


def test_cavity_and_dam_are_timed_in_both_patterns(record):
    found = [(m["streaming"], tuple(m["box"])) for m in record["measurements"]]
    dam = (EDGE,) * 3
    assert found[1:4] == [("pull", dam), ("aa", dam), ("pull", SCENE)]
    assert found[0][0] == "aa" and len(found) == 6


def test_steps_of_the_scene_update_all_its_cells(record):
    ((steps, million_cells, busy),) = record["tables"][published.SCHREIBER_SCENE.key].values()
    assert million_cells == record["measurements"][3]["mflups"] and busy is None
    assert steps * np.prod(SCENE) == pytest.approx(1e6 * million_cells)


def test_stages_surface_and_plain_flow_are_compared(record):
    shares = record["tables"][published.SCHREIBER_7.key]
    assert {"interior", "exchange", "mark"} <= shares.keys()
    for k in (0, 1):
        assert sum(row[k] for row in shares.values() if row[k] is not None) == pytest.approx(100.0)
    ((share,),) = record["tables"][published.SCHREIBER_SHARE.key].values()
    plain, surface = record["measurements"][4:]
    assert share == pytest.approx(100 * surface["mflups"] / plain["mflups"])
    assert not record["tables"].keys() & {published.SCHREIBER_5.key, published.SCHREIBER_6.key}
