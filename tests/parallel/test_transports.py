"""The flow does not depend on the transport of the halos; transports that do not work are reported."""

import json
from functools import partial

import numpy as np
import pytest

import tests.support
from muphy_lb.backends import count_gpus
from muphy_lb.backends.numpy.backend import NumpyBackend
from muphy_lb.base.errors import BackendError
from muphy_lb.base.precision import FP64
from muphy_lb.domain import STREAMINGS, Exchange
from muphy_lb.lattice import D2Q9
from muphy_lb.parallel import SerialCommunicator, choice
from muphy_lb.parallel.choice import HaloConnector
from muphy_lb.parallel.communicator import MpiCommunicator
from muphy_lb.parallel.exchange import bind_exchanges
from muphy_lb.parallel.transports import (
    DevicePointers,
    ExchangeTasks,
    HostStaged,
    TransportFailure,
    collectively,
    host,
)
from muphy_lb.parallel.transports.host import pieces
from tests.support import Ranks, Setup, random_nodes, random_owner, random_populations
from tests.vessel import write_case

STEPS = 12


class MixedConnector(HaloConnector):
    """Neighbours with an even number through the host, the others by device pointers."""

    def connect(self, backend, halo):
        """Bind both."""
        even = [j for j, rank in enumerate(halo.neighbours) if rank % 2 == 0]
        odd = [j for j, rank in enumerate(halo.neighbours) if rank % 2]
        self.communicator.is_cuda_aware = True
        transports = HostStaged(self.communicator, backend), DevicePointers(self.communicator, backend)
        return bind_exchanges(halo, list(zip(transports, (even, odd), strict=True)))


@pytest.mark.parametrize("streaming", STREAMINGS)
def test_two_transports_side_by_side_change_nothing(streaming, monkeypatch):
    nodes, setup = random_nodes(D2Q9, openings=False), Setup(D2Q9, streaming=streaming, force=(1e-5, 2e-5, 0.0))
    owner, found = random_owner(nodes, 4), []
    for connector in (HaloConnector, MixedConnector):
        monkeypatch.setattr(tests.support, "HaloConnector", connector)
        ranks = Ranks(nodes, setup, owner)
        ranks.set_populations(random_populations(D2Q9, nodes.n_nodes))
        ranks.step(STEPS)
        found.append(ranks.populations())
    assert ranks.engines[0].transport == "host+cuda-aware"
    assert np.array_equal(*found) and np.abs(found[0]).max() > 0.0


def test_a_part_of_an_exchange_has_the_messages_of_its_neighbours():
    whole = Exchange(np.array([7, 5, 3, 1, 2]), np.array([0, 2, 2, 5]), slice(10, 14), np.array([0, 1, 3, 4]))
    part = whole.part([0, 2])
    assert part.pack.tolist() == [7, 5, 3, 1, 2] and part.pack_start.tolist() == [0, 2, 5]
    assert part.unpack.tolist() == [10, 13] and part.unpack_start.tolist() == [0, 1, 2]


def test_a_shortened_exchange_has_the_first_populations_of_each_message():
    whole = Exchange(np.array([7, 5, 3, 1, 2]), np.array([0, 2, 2, 5]), slice(10, 14), np.array([0, 1, 3, 4]))
    short = whole.shortened(1)
    assert short.pack.tolist() == [7, 3] and short.pack_start.tolist() == [0, 1, 1, 2]
    assert short.unpack.tolist() == [10, 11, 13] and short.unpack_start.tolist() == [0, 1, 2, 3]


class TwoRanks(SerialCommunicator):
    """A rank with another beside it that always agrees with it, and sends back what it is sent."""

    size, machine_ranks, library, is_cuda_aware = 2, frozenset({0, 1}), "an MPI", False


class Echo:
    """A transport whose trial message comes back as the other rank would send it, or damaged."""

    def __init__(self, name, damage, communicator, backend):
        self.name, self._damage = name, damage

    def bind(self, neighbours, plans, buffers):
        """The other rank is number 1, whose mark is 2."""

        def answer(buffer, plan):
            buffer[plan.unpack] = 2 + self._damage

        return tuple(
            ExchangeTasks(start=[choice_task(partial(answer, buffer, plan))])
            for plan, buffer in zip(plans, buffers, strict=True)
        )

    def confirm(self):
        """It came."""


def choice_task(run):
    """A task of the edge."""
    from muphy_lb.parallel.task import ON_EDGE, Task

    return Task("exchange", ON_EDGE, run)


def connected(monkeypatch, wanted, **makers):
    """What a connector finds if transports are made by these; those not given cannot be made."""
    from muphy_lb.parallel.exchange import Halo

    class Device(NumpyBackend):
        """A device in name."""

        on_host = False

    def refuse(name, *_):
        raise TransportFailure(f"no {name} here")

    names = ("host", "cuda-aware", "nccl", "peer")
    monkeypatch.setattr(choice, "MAKERS", {name: makers.get(name, partial(refuse, name)) for name in names})
    backend = Device(D2Q9, FP64)
    start = np.array([0, 2])
    plan = Exchange(np.array([0, 1]), start, slice(4, 6), start)
    halo = Halo((1,), (plan, plan), (backend.zeros(6, float), backend.zeros(6, float)))
    return HaloConnector(TwoRanks(), wanted).connect(backend, halo)


def test_a_transport_that_damages_messages_is_not_used(monkeypatch, caplog):
    caplog.set_level("INFO")
    makers = {"peer": partial(Echo, "peer", 1), "host": partial(Echo, "host", 0)}
    assert connected(monkeypatch, "auto", **makers).used == "host"
    assert "peer does not work here: a trial message did not arrive" in caplog.text


def test_a_failure_that_ranks_agree_on_is_told_as_it_is():
    def fail():
        raise ValueError("no luck")

    with pytest.raises(TransportFailure, match=r"^ValueError: no luck \(rank 0\)$"):
        collectively(TwoRanks(), lambda: collectively(TwoRanks(), fail, Exception))


def test_a_transport_that_was_asked_for_and_does_not_work_is_an_error(monkeypatch):
    with pytest.raises(BackendError, match="transport is 'nccl', which does not work here: no nccl here"):
        connected(monkeypatch, "nccl", host=partial(Echo, "host", 0))


def test_auto_takes_what_works_and_says_why_not_the_rest(monkeypatch, caplog):
    caplog.set_level("INFO")
    makers = {"nccl": partial(Echo, "nccl", 0), "host": partial(Echo, "host", 0)}
    assert connected(monkeypatch, "auto", **makers).used in ("nccl", "host")
    assert "no peer here" in caplog.text and "microseconds an exchange: nccl" in caplog.text


def test_an_impossible_transport_is_told_once(mpirun, tmp_path):
    path = write_case(tmp_path, compute={"transport": "peer"})
    done = mpirun(2, ["-m", "muphy_lb", "run", path, "-o", tmp_path / "out"])
    assert done.returncode == BackendError.exit_code
    assert done.stderr.count("compute.transport is 'peer', which does not work here") == 1


@pytest.mark.gpu
def test_every_transport_gives_the_bits_of_one_rank(mpirun):
    n_ranks = 2
    names = "host,peer,auto" + (",nccl" if count_gpus() >= n_ranks else "")
    done = mpirun(n_ranks, ["-m", "tests.parallel.transports", names, "01"], timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert any(record.get("shared_openings") for record in records if record["flow"] == "answering vessel")
    refused = {record["transport"] for record in records if "refused" in record}
    assert refused <= {"nccl"}, records
    assert all(record["equal"] and record["largest"] > 1e-4 for record in records if "refused" not in record), records


def test_a_long_message_is_cut_alike_at_both_ends():
    assert pieces([0, 5, 5, 7], [3, 4, 6], 2) == [(0, 2, 3, 0), (2, 4, 3, 1), (4, 5, 3, 2), (5, 7, 6, 0)]


class Card(NumpyBackend):
    """A device with memory of its own, in name; copies wait until somebody waits for them, as those of a card do."""

    on_host = False

    def __init__(self):
        super().__init__(D2Q9, FP64)
        self.enqueued = []

    def host_buffer(self, size, dtype):
        return np.zeros(size, dtype)

    def download(self, array, host):
        return lambda: self.enqueued.append(lambda: np.copyto(host, array))

    upload = download

    def finish_edge(self):
        while self.enqueued:
            self.enqueued.pop(0)()

    def edge_mark(self):
        def wait():
            while there[0] in self.enqueued:
                self.enqueued.pop(0)()

        there = [None]

        def mark():
            there[0] = lambda: None
            self.enqueued.append(there[0])

        return mark, wait


def exchange_in_pieces(communicator, n_bytes: int) -> tuple:
    """Messages of several lengths among three ranks arrive whole, step after step, cut or not; how they are sent."""
    host.PIECE_BYTES, card = n_bytes, Card()
    others = tuple(rank for rank in range(3) if rank != communicator.rank)
    lengths = [3 + 5 * (communicator.rank + rank) for rank in others]  # the same at both ends
    start = np.concatenate([[0], np.cumsum(lengths)])
    plan = Exchange(slice(0, start[-1]), start, slice(start[-1], 2 * start[-1]), start)
    buffers = tuple(card.zeros(2 * start[-1], np.float64) for _ in range(2))
    exchanges = HostStaged(communicator, card).bind(others, (plan, plan), buffers)
    for step in range(6):
        buffer, exchange = buffers[step % 2], exchanges[step % 2]
        for j, rank in enumerate(others):
            buffer[start[j] : start[j + 1]] = 1000 * step + 100 * communicator.rank + 10 * rank + np.arange(lengths[j])
        exchange.run()
        card.finish_edge()
        for j, rank in enumerate(others):
            came = buffer[start[-1] + start[j] : start[-1] + start[j + 1]]
            expected = 1000 * step + 100 * rank + 10 * communicator.rank + np.arange(lengths[j])
            assert np.array_equal(came, expected), (n_bytes, step, rank, came, expected)
    return exchanges


def exchange_and_end() -> None:
    """On all ranks of this launcher: with short and long pieces; MPI ends before the messages are forgotten."""
    from mpi4py import MPI

    communicator = MpiCommunicator(MPI)
    kept = [exchange_in_pieces(communicator, n_bytes) for n_bytes in (32, 1 << 20)]
    print("all", flush=True)
    communicator.finalise()
    del kept


@pytest.mark.mpi
def test_messages_through_the_host_arrive_whole_in_pieces_of_any_length(mpirun):
    done = mpirun(3, ["-c", "from tests.parallel.test_transports import exchange_and_end; exchange_and_end()"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("all") == 3 and "persistent request" not in done.stderr
