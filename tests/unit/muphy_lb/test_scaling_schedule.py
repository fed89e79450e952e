"""bench.scaling.predict beside a simulation of the exchange schedule on 64 and 4,096 ranks.

Every rank posts its receives and sends in ascending order of neighbours, works on its interior, waits for all messages
and works on its edge (``parallel/transports/host.py``). In the simulation a message takes its bytes over the bandwidth
to leave, one after the other, a latency to cross, and its bytes over the bandwidth again to be taken in, in the order
of arrival. The prediction adds the latencies of all messages of a rank, and leaves out that they wait where they
arrive.
"""

from functools import cache

import numpy as np
import pytest

from muphy_lb.bench.scaling import model
from muphy_lb.bench.scaling.predict import WAIT
from muphy_lb.domain import build_local_domain
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, Voxels
from muphy_lb.lattice import lattice_named

EDGE, RANKS_OF_PLAN, STEPS = 4, 4, 12  # voxels of a part, ranks along an edge of the box that is planned; steps
LINK = model.Link(gb_s=25.0, latency_us=5.0)
INTERIOR, EDGE_S = 30e-6, 4e-6


@cache
def messages_of_a_part():
    """{(dx, dy, dz): populations} that a cube of a periodic box sends to each neighbour, by the plans of all ranks."""
    n = EDGE * RANKS_OF_PLAN
    nodes = build_nodes(Voxels(np.full((n,) * 3, FLUID, FLAG_DTYPE), 1.0, periodic=(True,) * 3))
    place = nodes.coordinates(np.arange(nodes.n_nodes)) // EDGE
    owner = (place @ RANKS_OF_PLAN ** np.arange(3)).astype(np.int32)
    found = []
    for rank in (0, 21, 63):
        halo = build_local_domain(nodes, owner, rank, lattice_named("D3Q19")).halo
        offsets = (
            positions(np.array(halo.neighbours), RANKS_OF_PLAN) - positions(np.array(rank), RANKS_OF_PLAN) + 1
        ) % 4 - 1
        found.append(dict(zip(map(tuple, offsets.tolist()), np.diff(halo.send_start).tolist(), strict=True)))
    assert found[0] == found[1] == found[2]
    return found[0]


def positions(rank, n):
    """(..., 3) place of ranks in a box of n^3 of them."""
    return np.stack((rank % n, rank // n % n, rank // n**2), axis=-1)


def schedule(n, scale):
    """Neighbours (ranks, messages), ascending, and bytes of each message, of a periodic box of n^3 ranks."""
    sent = messages_of_a_part()
    place, offsets = positions(np.arange(n**3), n), np.array(list(sent))
    neighbours = (place[:, None] + offsets) % n @ n ** np.arange(3)
    order = np.argsort(neighbours, axis=1, kind="stable")
    n_bytes = np.broadcast_to(scale * np.array(list(sent.values())), neighbours.shape)
    return np.take_along_axis(neighbours, order, 1), np.take_along_axis(n_bytes, order, 1)


def simulated(n, scale, late=None):
    """(STEPS, ranks) times [s] at which each rank ends each step; ``late``: a rank that begins 100 us after others."""
    neighbours, n_bytes = schedule(n, scale)
    now, ends = np.zeros(n**3), []
    now[[] if late is None else [late]] = 1e-4
    cost = n_bytes * 1e-9 / LINK.gb_s
    receiver = neighbours.ravel()
    for _ in range(STEPS):
        arrival = (now[:, None] + np.cumsum(cost, axis=1) + 1e-6 * LINK.latency_us).ravel()
        order = np.lexsort((arrival, receiver))
        arriving, taking = arrival[order].reshape(n**3, -1), cost.ravel()[order].reshape(n**3, -1)
        complete = np.zeros(n**3)
        for message in range(arriving.shape[1]):
            complete = np.maximum(complete, arriving[:, message]) + taking[:, message]
        now = np.maximum(now + INTERIOR, complete) + EDGE_S
        ends.append(now)
    return np.array(ends)


def predicted(scale, n_messages):
    """The step of the model [s] for as many messages as count."""
    edge = 1000 * EDGE_S / INTERIOR
    n_bytes = scale * sum(messages_of_a_part().values())
    machine = model.across(model.Machine(INTERIOR / 1000), LINK)
    return model.step_seconds(machine, model.RankLoad(1000 + edge, edge, n_bytes, n_messages))


def test_a_cube_of_a_box_sends_to_faces_and_edges():
    sent = messages_of_a_part()
    assert len(sent) == 18 and sent[1, 0, 0] == 5 * EDGE**2 - 4 * EDGE and sent[1, 1, 0] == EDGE


@pytest.mark.parametrize("n", [4, 16])
@pytest.mark.parametrize("scale", [40.0, 4e2, 4e3, 4e4])
def test_the_prediction_holds_but_for_what_messages_wait_where_they_arrive(n, scale):
    ends = simulated(n, scale)
    step = (ends[-1] - ends[0]).max() / (STEPS - 1)
    assert predicted(scale, 1) <= step * (1 + 1e-9)
    assert step <= WAIT * predicted(scale, 18)


def test_a_step_takes_as_long_on_4096_ranks_as_on_64():
    few, many = (np.diff(simulated(n, 4e3), axis=0) for n in (4, 16))
    assert many.max() == pytest.approx(few.max(), rel=1e-2)


def test_short_messages_hide_behind_the_interior():
    assert np.diff(simulated(16, 40.0), axis=0).max() == pytest.approx(INTERIOR + EDGE_S)


def test_a_late_rank_delays_only_ranks_that_its_messages_have_reached():
    on_time, late = simulated(16, 40.0), simulated(16, 40.0, late=0)
    distance = np.minimum(positions(np.arange(16**3), 16), 16 - positions(np.arange(16**3), 16)).max(axis=1)
    for step in range(4):
        delayed = late[step] > on_time[step] + 1e-9
        assert delayed.any() and distance[delayed].max() <= step + 1
