"""The flow does not depend on the number of ranks, the partitioning, or a restart: not in one bit. Other numbers of
ranks: tests/laws/test_ranks.py, all in one process."""

import csv
import json

import h5py
import numpy as np
import pytest

from muphy_lb.case.case import case_from_dict
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.parallel.driver import (
    N_STEPS,
    PARTITIONS,
    RANKS,
    STREAMINGS,
    VARIANTS,
    compute_all,
    compute_on_ranks,
    compute_prepared,
    prepare,
    restart_folder,
    tables,
)

FLOWS = ("vessel", "rock")
WAYS = (*VARIANTS, *(("restarted", streaming) for streaming in STREAMINGS))


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """Output folders of one rank."""
    folder = tmp_path_factory.mktemp("serial")
    compute_all(folder, SerialCommunicator())
    prepare(folder)
    compute_prepared(folder, folder, SerialCommunicator())
    return folder


@pytest.fixture(scope="module")
def parallel(serial, tmp_path_factory, on_ranks):
    """Output folders of three ranks."""
    folder = tmp_path_factory.mktemp("parallel")
    on_ranks(RANKS, compute_on_ranks, serial, folder)
    return folder


def populations(folder):
    """(Q, n) populations of the last checkpoint of a run."""
    with h5py.File(folder / "checkpoints" / f"step_{N_STEPS:012d}.h5") as file:
        return file["populations"][...]


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


@pytest.mark.parametrize("flow", FLOWS)
def test_the_flow_moves(serial, flow):
    assert summary(serial / f"{flow}-metis-pull")["mean_velocity_m_s"] > 0.0


@pytest.mark.parametrize(("way", "streaming"), WAYS)
@pytest.mark.parametrize("flow", FLOWS)
def test_populations_do_not_depend_on_ranks(serial, parallel, flow, way, streaming):
    found = populations(parallel / f"{flow}-{way}-{streaming}")
    assert np.array_equal(found, populations(serial / f"{flow}-metis-{streaming}"))


@pytest.mark.parametrize("streaming", STREAMINGS)
def test_one_rank_continues_what_three_began(serial, parallel, streaming, tmp_path):
    restart_folder(parallel / f"vessel-metis-{streaming}", tmp_path / "out")
    _, table = next(iter(tables("metis", streaming)))
    Run(Solver(case_from_dict(table)), tmp_path / "out", resume=True).execute()
    assert np.array_equal(populations(tmp_path / "out"), populations(serial / f"vessel-metis-{streaming}"))


def test_ranks_that_read_their_parts_compute_what_one_rank_computes(serial, parallel):
    """The walls interpolate, with distances that each rank has read for itself."""
    assert np.array_equal(populations(parallel / "prepared"), populations(serial / "prepared"))
    peak_mib = summary(parallel / "prepared")["peak_memory_mib"]
    assert len(peak_mib) == RANKS and min(peak_mib) > 10.0


def test_one_and_three_ranks_write_the_same_series(serial, parallel):
    found, expected = (
        list(csv.reader((folder / "vessel-metis-pull" / "openings.csv").open())) for folder in (parallel, serial)
    )
    assert found == expected


def test_one_and_three_ranks_are_steady_at_the_same_step(serial, parallel):
    expected = summary(serial / "steady-metis-pull")
    assert expected["ended"] == "steady"
    for way in PARTITIONS:
        assert summary(parallel / f"steady-{way}-pull")["steps"] == expected["steps"]


def test_the_summary_counts_the_ranks(serial, parallel):
    assert [summary(folder / "vessel-metis-pull")["ranks"] for folder in (serial, parallel)] == [1, RANKS]
