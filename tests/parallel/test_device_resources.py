"""What a simulation takes from the device it gives back, and it does not wait for ever for a neighbour that is gone."""

import gc
import json
import subprocess
import sys
import time
import weakref
from types import FunctionType, ModuleType, SimpleNamespace

import numpy as np
import pytest

from muphy_lb.backends import count_gpus
from muphy_lb.backends.cuda import device, peers
from muphy_lb.backends.interface import AllocatedBytes
from muphy_lb.base.errors import BackendError
from muphy_lb.parallel.task import ON_DEVICE
from tests.channel import open_channel, simulate
from tests.conftest import ROOT
from tests.vessel import write_case

N_SIMULATIONS = 12
# What the driver keeps for itself varies by less.
SPARE_BYTES = 8 << 20


class Driver:
    """Stands in for the CUDA driver: remembers what was made and destroyed, in order."""

    def __init__(self, monkeypatch, refused=()):
        from cuda.bindings import driver

        self.calls = []
        answers = {
            "cuStreamBeginCapture": (),
            "cuStreamEndCapture": ("graph",),
            "cuGraphInstantiate": ("executable",),
            "cuGraphLaunch": (),
            "cuGraphDestroy": (),
            "cuGraphExecDestroy": (),
            "cuStreamDestroy": (),
            "cuCtxGetStreamPriorityRange": (0, -5),
            "cuStreamCreateWithPriority": (77,),
        }
        for name, answer in answers.items():
            status = driver.CUresult.CUDA_ERROR_UNKNOWN if name in refused else driver.CUresult.CUDA_SUCCESS
            monkeypatch.setattr(driver, name, lambda *_, n=name, a=(status, *answer): (self.calls.append(n), a)[1])
        context = {"current_context": lambda: None, "external_stream": lambda handle: handle}
        monkeypatch.setattr(device, "cuda", SimpleNamespace(**context))

    def count(self, name) -> int:
        """How often a function was called."""
        return self.calls.count(name)


def test_a_recorded_graph_is_destroyed_with_the_function_that_launches_it(monkeypatch):
    driver = Driver(monkeypatch)
    launch = device.record_graph(1, lambda: None)
    launch()
    launch()
    assert (driver.count("cuGraphLaunch"), driver.count("cuGraphDestroy")) == (2, 1)
    assert driver.count("cuGraphExecDestroy") == 0
    del launch
    gc.collect()
    assert driver.count("cuGraphExecDestroy") == 1


def test_what_a_graph_launches_lives_as_long_as_the_graph(monkeypatch):
    Driver(monkeypatch)
    order = []

    class Used:
        def __call__(self):
            pass

        def __del__(self):
            order.append("used")

    monkeypatch.setattr("cuda.bindings.driver.cuGraphExecDestroy", lambda _: order.append("graph"))
    launch = device.record_graph(1, Used())
    assert order == []
    del launch
    gc.collect()
    assert order == ["graph", "used"]


def test_a_graph_that_the_driver_refuses_is_destroyed(monkeypatch):
    driver = Driver(monkeypatch, refused=("cuGraphInstantiate",))
    with pytest.raises(BackendError, match="CUDA_ERROR_UNKNOWN"):
        device.record_graph(1, lambda: None)
    assert driver.count("cuGraphDestroy") == 1


def test_nothing_is_collected_while_a_graph_is_captured(monkeypatch):
    Driver(monkeypatch)
    seen = []
    device.record_graph(1, lambda: seen.append(gc.isenabled()))
    assert seen == [False] and gc.isenabled()


def test_a_stream_with_priority_is_destroyed_with_its_owner(monkeypatch):
    driver = Driver(monkeypatch)

    class Owner:
        pass

    owner = Owner()
    assert device.make_stream(owner, device.MOST) == 77 and driver.count("cuStreamDestroy") == 0
    del owner
    gc.collect()
    assert driver.count("cuStreamDestroy") == 1


def test_a_backend_is_gone_with_what_it_keeps():
    class Owner:
        def __init__(self):
            self.allocated, self.array = AllocatedBytes(), np.zeros(3)
            self.allocated.count(self.array, self.array.nbytes)

    owner = Owner()
    gone, counted = weakref.ref(owner), owner.allocated
    assert counted.total == 24
    del owner
    gc.collect()
    assert gone() is None and counted.total == 0


@pytest.mark.parametrize("backend", ["numpy", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_simulation_that_is_gone_leaves_no_backend(backend):
    simulation = simulate(open_channel(compute={"backend": backend}), 2)
    simulation.openings()
    gone = weakref.ref(simulation.engine.backend)
    del simulation
    gc.collect()
    assert gone() is None


@pytest.fixture
def nccl(monkeypatch):
    """The module for NCCL on a library that remembers which communicators were ended."""
    pytest.importorskip("cuda.core")

    class Communicator:
        ended: list = []

        def __init__(self, number):
            self.number = number

        @classmethod
        def init(cls, n_ranks, rank, identity):
            return cls(identity)

        def abort(self):
            self.ended.append(self.number)

    library = ModuleType("nccl.core")
    library.Communicator, library.get_unique_id, library.group = Communicator, None, None
    library.UniqueId = SimpleNamespace(from_bytes=lambda text: text)
    monkeypatch.setitem(sys.modules, "nccl", ModuleType("nccl"))
    monkeypatch.setitem(sys.modules, "nccl.core", library)
    monkeypatch.delitem(sys.modules, "muphy_lb.backends.cuda.nccl", raising=False)
    from muphy_lb.backends.cuda import nccl

    yield nccl, Communicator.ended
    sys.modules.pop("muphy_lb.backends.cuda.nccl", None)


def test_a_communicator_of_nccl_is_ended_when_the_ranks_join_anew(nccl):
    module, ended = nccl
    first = module.join("first", 2, 0, stream=1)
    exchange = first.bind_exchange((), (), ())
    del first
    gc.collect()
    second = module.join("second", 2, 0, stream=1)
    assert ended == []  # something could still launch the exchange
    del exchange
    gc.collect()
    assert ended == []  # the other ranks may be elsewhere
    module.join("third", 2, 0, stream=1)
    assert ended == ["first"] and second is not None


def awaited(flags, limit):
    """Function that waits as the kernels do, one neighbour after the other; its signal; and what the host sees."""
    flags, late = np.array(flags, np.uint32), np.zeros(len(flags), np.uint32)
    none, sent = np.zeros(0, np.uint64), np.zeros(1, np.uint32)
    addresses = np.arange(len(flags), dtype=np.uint64)
    limits = np.array([limit], np.uint64)
    signal = peers.Signal(flags, none, sent, sent.copy(), sent.copy(), limits, sent.copy(), addresses)
    thread = SimpleNamespace(x=0)
    names = dict(vars(peers)) | {
        "cuda": SimpleNamespace(threadIdx=thread, syncthreads=lambda: None),
        "load_acquire": lambda array, j: array[j],
        "store_release": lambda place, value: late.__setitem__(int(place), value),
    }
    kernel = FunctionType(peers.await_flags.py_func.__code__, names)

    def wait():
        before = signal.awaited[0]
        for thread.x in range(len(flags)):
            signal.awaited[0] = before
            with np.errstate(over="ignore"):  # counters are compared by their difference
                kernel(signal)
        signal.awaited[0] = before + 1

    return wait, signal, late


def test_a_wait_in_vain_tells_which_neighbours_are_late_and_later_ones_end_at_once():
    wait, signal, late = awaited(flags=[1, 0, 1], limit=50)
    wait()
    assert (late.tolist(), signal.failed[0], signal.limit[0]) == ([0, 1, 0], 1, 0)
    wait()  # nobody has sent a second message, but that is no news
    assert late.tolist() == [0, 1, 0]


def test_flags_that_are_there_are_no_reason_to_give_up():
    wait, signal, late = awaited(flags=[1, 2], limit=50)
    wait()
    assert (late.tolist(), signal.failed[0], signal.limit[0]) == ([0, 0], 0, 50)


def test_a_late_halo_ends_the_run_and_names_the_neighbours():
    late = np.array([0, 1, 1], np.uint32)
    with pytest.raises(BackendError, match=r"the halo of rank 5, 7 has not come for about 30 minutes.*muphy-lb resume"):
        peers.Awaited((3, 5, 7), late, is_confirmed=True).check()
    peers.Awaited((3, 5, 7), late, is_confirmed=False).check()
    peers.Awaited((3, 5, 7), 0 * late, is_confirmed=True).check()


MANY_SIMULATIONS = """
import gc, json, sys
from collections import Counter
from cuda.bindings import driver
from muphy_lb.backends.cuda.device import memory_free
from muphy_lb.case.case import load_case
from muphy_lb.parallel import connect
from muphy_lb.run.solver import Solver
calls = Counter()
def counted(name):
    given = getattr(driver, name)
    def call(*arguments):
        calls[name] += 1
        return given(*arguments)
    setattr(driver, name, call)
for name in ("cuGraphInstantiate", "cuGraphDestroy", "cuGraphExecDestroy", "cuStreamCreateWithPriority",
             "cuStreamDestroy"):
    counted(name)
free, ranks = [], connect()
for _ in range(int(sys.argv[2])):
    simulation = Solver(load_case(sys.argv[1]), ranks)
    simulation.step(50)
    simulation.health()
    del simulation
    gc.collect()
    ranks.barrier()
    free.append(memory_free()[0])
abandoned = sys.modules.get("muphy_lb.backends.cuda.nccl")
left = len(abandoned._abandoned) if abandoned else 0
if ranks.rank == 0:
    print(json.dumps({"calls": calls, "free": free, "left": left}))
"""


def check_that_nothing_is_left(done, n_simulations):
    """The record of rank 0 says that all was destroyed, and that memory stays as it was after the second simulation."""
    assert done.returncode == 0, done.stderr[-3000:]
    # launchers put escape sequences around what ranks print
    record = json.loads(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1])
    calls, free = record["calls"], record["free"]
    assert calls["cuGraphInstantiate"] == calls["cuGraphDestroy"] == calls["cuGraphExecDestroy"] > 0, record
    assert calls["cuStreamCreateWithPriority"] == calls["cuStreamDestroy"] == len(ON_DEVICE) * n_simulations, record
    assert free[1] - free[-1] <= SPARE_BYTES, record
    return record


@pytest.mark.gpu
def test_many_simulations_in_one_process_leave_nothing_on_the_gpu(tmp_path):
    case = write_case(tmp_path, compute={"backend": "cuda"})
    line = [sys.executable, "-c", MANY_SIMULATIONS, case, str(N_SIMULATIONS)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=400, cwd=ROOT)
    check_that_nothing_is_left(done, N_SIMULATIONS)


@pytest.mark.gpu
@pytest.mark.parametrize("transport", ["peer", "nccl"])
def test_many_simulations_on_two_ranks_leave_nothing_on_the_gpu(transport, mpirun, tmp_path):
    if transport == "nccl" and count_gpus() < 2:
        pytest.skip("NCCL needs a GPU for each rank")
    case = write_case(tmp_path, compute={"backend": "cuda", "transport": transport})
    done = mpirun(2, ["-c", MANY_SIMULATIONS, case, N_SIMULATIONS], timeout=400)
    if transport == "nccl" and "which does not work here" in done.stderr:
        pytest.skip(f"no NCCL: {done.stderr}")
    record = check_that_nothing_is_left(done, N_SIMULATIONS)
    assert record["left"] <= 1, record


# Ranks may be some seconds apart while they compile; rank 1 then stops for ever.
STOPPED_NEIGHBOUR = """
import sys, time
from muphy_lb.__main__ import main
from muphy_lb.backends.cuda import peers
from muphy_lb.run.solver import Solver
peers.RUN_POLLS = 20_000_000
advance = Solver.advance
def stop(self, *arguments):
    if self.communicator.rank == 1 and self.step_number >= 20:
        time.sleep(3600)
    return advance(self, *arguments)
Solver.advance = stop
main(sys.argv[1:])
"""


@pytest.mark.gpu
def test_a_neighbour_that_stops_ends_the_run_and_is_named(mpirun, tmp_path):
    case = write_case(tmp_path, compute={"backend": "cuda", "transport": "peer"}, run={"steps": 10_000})
    before = time.monotonic()
    done = mpirun(2, ["-c", STOPPED_NEIGHBOUR, "run", case, "-o", tmp_path / "out"], timeout=400)
    assert done.returncode == BackendError.exit_code, done.stderr[-3000:]
    assert "the halo of rank 1 has not come" in done.stderr and "[rank 0 of 2]" in done.stderr
    assert done.stderr.count("muphy-lb: error") == 1 and time.monotonic() - before < 300
