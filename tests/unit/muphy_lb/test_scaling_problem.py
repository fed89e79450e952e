"""What grows with the ranks, and which points belong together."""

from dataclasses import replace
from math import prod

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.bench.jobs import job_of_table
from muphy_lb.bench.scaling.model import cut, partition_cuts
from muphy_lb.bench.scaling.problem import STRONG, WEAK, WEAK_ROW, copies_for, problem, refined
from muphy_lb.bench.scaling.study import Point, SeriesVariant, distinct, named_series
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.lattice import lattice_named
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.partition.halo import Exchange
from muphy_lb.partition.voxels import graph_from_voxels
from tests.vessel import changed, vessel

D3Q19 = lattice_named("D3Q19")


class Ranks(SerialCommunicator):
    """The first of some ranks."""

    def __init__(self, size):
        self.size = size


def spheres(**options):
    """A periodic pack as a job."""
    options = {"size": 12, "radius": 3.0, "porosity": 0.6} | options
    geometry = {"shape": "sphere_pack", "spacing_m": 1e-5, "options": options}
    table = changed(geometry=geometry, openings=[], lattice={"lattice_velocity": None, "relaxation_time": 0.9})
    return job_of_table(table, (), SerialCommunicator())


def vessel_job(**sections):
    """The branching vessel as a job."""
    return job_of_table(changed(**sections), (), SerialCommunicator())


@pytest.mark.parametrize(
    ("shape", "n", "copies"),
    [
        ((10, 10, 10), 8, (2, 2, 2)),
        ((10, 10, 10), 4, (2, 2, 1)),
        ((10, 20, 40), 4, (1, 2, 2)),
        ((40, 20, 10), 8, (4, 2, 1)),
        ((10, 10, 10), 6, (3, 2, 1)),
        ((10, 10, 10), 1, (1, 1, 1)),
    ],
)
def test_copies_keep_the_box_compact(shape, n, copies):
    assert copies_for(shape, n) == copies and prod(copies) == n


@pytest.mark.parametrize(("mode", "shape"), [(WEAK, (12, 24, 24)), (WEAK_ROW, (48, 12, 12))])
def test_what_can_be_tiled_grows_into_a_compact_box_or_a_row(mode, shape):
    assert problem(spheres(), mode, Ranks(4)).nodes.shape == shape


def test_strong_scaling_keeps_the_problem():
    base = vessel_job()
    assert problem(base, STRONG, Ranks(4)) is base


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_periodic_geometry_is_repeated_for_every_rank(n):
    base = spheres()
    grown = problem(base, WEAK, Ranks(n))
    assert grown.nodes.n_nodes == n * base.nodes.n_nodes and grown.case == base.case


@pytest.mark.parametrize("n", [2, 4])
def test_a_vessel_gets_finer_until_there_are_as_many_nodes_a_rank(n):
    base = vessel_job()
    assert problem(base, WEAK, Ranks(n)).nodes.n_nodes == pytest.approx(n * base.nodes.n_nodes, rel=0.15)


def test_a_finer_case_keeps_the_relaxation_time_of_a_given_time_step():
    coarse = vessel(lattice={"lattice_velocity": None, "time_step_s": 1e-3})
    fine = refined(coarse, 8)
    assert fine.geometry.spacing_m == pytest.approx(coarse.geometry.spacing_m / 2)
    assert fine.lattice.time_step_s == pytest.approx(coarse.lattice.time_step_s / 4)


def test_a_geometry_that_cannot_grow_is_refused():
    shape = {"shape": "pipe", "spacing_m": 1e-3, "options": {"length": 10, "radius": 4.0, "ends": "open"}}
    openings = [{"name": "inlet", "velocity_m_s": 0.01}, {"name": "outlet", "pressure_pa": 0.0}]
    base = vessel_job(geometry={**shape}, openings=openings)
    with pytest.raises(InputError, match="finer voxels do not add nodes.*--mode strong"):
        problem(base, WEAK, Ranks(8))


def test_a_row_of_what_cannot_be_tiled_is_refused():
    with pytest.raises(InputError, match="weak-row sets copies in a row.*use --mode weak"):
        problem(vessel_job(), WEAK_ROW, Ranks(2))


def test_a_geometry_with_its_own_spacing_cannot_be_refined():
    base = vessel_job()
    geometry = base.case.geometry.model_copy(update={"spacing_m": None})
    with pytest.raises(InputError, match="its voxel edge is fixed"):
        problem(replace(base, case=base.case.model_copy(update={"geometry": geometry})), WEAK, Ranks(2))


def point(ranks, transport="host", mflups=1.0, **changes):
    """A made-up point."""
    made = Point(
        variant=SeriesVariant("fp32", "pull", transport),
        ranks=ranks,
        transport="none" if ranks == 1 else "host",
        device="card",
        kernel="D3Q19 bgk",
        n_nodes=1000,
        box=(10, 10, 10),
        is_periodic=True,
        most_nodes=1000 // ranks,
        most_edge_nodes=10,
        most_halo_bytes=400.0,
        most_neighbours=ranks - 1,
        edge_share=0.1,
        bytes_per_node=160.0,
        storage_bytes=4,
        crossing=5,
        n_steps=10,
        n_runs=3,
        mflups=mflups,
        mflups_low=mflups,
        mflups_high=mflups,
    )
    return replace(made, **changes)


def test_on_one_rank_transports_are_the_same():
    variants = [SeriesVariant("fp32", "pull", name) for name in ("host", "peer")]
    assert distinct(variants, 1) == variants[:1] and distinct(variants, 2) == variants


def test_what_ran_on_one_rank_belongs_to_the_series_of_every_transport():
    points = [point(1), point(2), point(2, "auto")]
    groups = named_series(points, [SeriesVariant("fp32", "pull", name) for name in ("host", "auto")])
    assert groups == {"host": points[:2], "auto (host)": [points[0], points[2]]}


def test_time_of_a_step_follows_from_the_rate():
    assert point(1, mflups=2.0).step_s == pytest.approx(1000 / 2e6)


def test_stages_are_summed_by_what_they_are():
    stages = {"interior": 3.0, "edge": 1.0, "pack": 0.5, "unpack": 0.25, "exchange": 2.0}
    assert point(2, stages=stages).split_s == {"compute": 4.0, "pack": 0.75, "exchange": 2.0}


def test_halves_of_a_periodic_box_exchange_two_faces():
    nodes = build_nodes(build_shape("random_solid", shape_zyx=(8, 8, 8), porosity=1.0))
    graph = graph_from_voxels(nodes.voxel, nodes.shape, nodes.periodic)
    found = cut(graph, (nodes.coordinates()[:, 0] // 4).astype(np.int32), Exchange(D3Q19.c[1:]), "hand")
    assert (found.n_parts, found.nodes, found.edge_nodes, found.populations) == (2, 256, 128, 2 * 5 * 64)
    assert (found.neighbours, found.imbalance, found.method) == (1, 1.0, "hand")


def test_a_geometry_is_cut_into_many_parts_unless_it_is_tiny():
    nodes = build_nodes(build_shape("random_solid", shape_zyx=(24, 24, 24), porosity=1.0))
    assert [found.n_parts for found in partition_cuts(nodes, D3Q19)] == [8, 16, 64]
    assert partition_cuts(build_nodes(build_shape("random_solid", shape_zyx=(4, 4, 4), porosity=1.0)), D3Q19) == []
