"""How fast a whole time step runs, beside the copy bandwidth of the same device measured in the same run."""

import statistics
import time
from dataclasses import asdict, dataclass

import numpy as np

from muphy_lb.case import Case
from muphy_lb.simulation import Simulation

COPY_BYTES = 1 << 32
COPY_BYTES_ON_HOST = 1 << 28
COPY_REPETITIONS = 20


@dataclass(frozen=True)
class Measurement:
    """One variant of a case, timed.

    Attributes:
        mflups: million fluid-node updates per second of the whole time step, all ranks, median of the runs.
        mflups_low, mflups_high: extremes of the runs.
        bytes_per_update: bytes a node update must move: Q populations read, Q written, Q - 1 table entries.
        moved_tb_s: bytes_per_update times updates per second and rank.
        copy_tb_s: bandwidth of a large copy on the same device, bytes read plus written.
        fraction: moved_tb_s / copy_tb_s.
        registers, local_bytes: of one thread of the stream-and-collide kernel; None where there is none to ask.
    """

    kernel: str
    device: str
    ranks: int
    n_fluid: int
    precision: str
    streaming: str
    mflups: float
    mflups_low: float
    mflups_high: float
    bytes_per_update: int
    moved_tb_s: float
    copy_tb_s: float
    fraction: float
    registers: int | None
    local_bytes: int | None

    def record(self) -> dict:
        """Plain dictionary."""
        return asdict(self)


def measure(
    case: Case, precision: str, streaming: str, communicator, n_steps: int = 200, n_runs: int = 5
) -> Measurement:
    """Time the whole time step (openings, exchange, bulk) of a case; collective."""
    compute = case.compute.model_copy(update={"precision": precision, "streaming": streaming})
    simulation = Simulation(case.model_copy(update={"compute": compute}), communicator)
    copy_tb_s = copy_bandwidth_tb_s(simulation.engine.backend)
    simulation.step(max(1, n_steps // 4))
    rates = sorted(_rate(simulation, n_steps) for _ in range(n_runs))
    simulation.health()
    rate = statistics.median(rates)
    engine = simulation.engine
    usage = engine.backend.stream_collide_usage(engine.model.collision, streaming)
    q_count = simulation.lattice.q
    bytes_per_update = 2 * q_count * np.dtype(engine.real).itemsize + (q_count - 1) * engine.addresses.table.itemsize
    moved_tb_s = rate * bytes_per_update / communicator.size / 1e12
    return Measurement(
        kernel=f"{simulation.lattice.name} {engine.model.collision.name}",
        device=engine.backend.device,
        ranks=communicator.size,
        n_fluid=simulation.nodes.n_nodes,
        precision=precision,
        streaming=streaming,
        mflups=rate / 1e6,
        mflups_low=rates[0] / 1e6,
        mflups_high=rates[-1] / 1e6,
        bytes_per_update=bytes_per_update,
        moved_tb_s=moved_tb_s,
        copy_tb_s=copy_tb_s,
        fraction=moved_tb_s / copy_tb_s,
        registers=usage.registers if usage else None,
        local_bytes=usage.local_bytes if usage else None,
    )


def copy_bandwidth_tb_s(backend) -> float:
    """Bandwidth of a large copy [TB/s], bytes read plus bytes written; best of several."""
    size = (COPY_BYTES_ON_HOST if backend.on_host else COPY_BYTES) // 4
    source = backend.array(np.random.default_rng(0).random(size, dtype=np.float32))
    copy = backend.bind_copy(source, backend.zeros(size, np.float32))
    best = min(_seconds(copy, backend) for _ in range(COPY_REPETITIONS))
    return 2 * 4 * size / best / 1e12


def table(measurements) -> str:
    """Measurements as a table for people."""
    head = (
        f"{'kernel':<46}{'precision':>9} {'streaming':>9} {'nodes':>12} {'ranks':>5} {'MFLUPS':>9} {'(low-high)':>15}"
        f" {'B/update':>8} {'TB/s':>6} {'copy':>6} {'fraction':>8} {'registers':>9} {'local B':>7}"
    )
    rows = [head]
    for m in measurements:
        spread = f"({m.mflups_low:.0f}-{m.mflups_high:.0f})"
        rows.append(
            f"{m.kernel:<46}{m.precision:>9} {m.streaming:>9} {m.n_fluid:>12,} {m.ranks:>5} {m.mflups:>9.0f}"
            f" {spread:>15} {m.bytes_per_update:>8} {m.moved_tb_s:>6.3f} {m.copy_tb_s:>6.3f} {m.fraction:>8.0%}"
            f" {_known(m.registers):>9} {_known(m.local_bytes):>7}"
        )
    return "\n".join(rows)


def _known(number: int | None) -> str:
    return "-" if number is None else str(number)


def _rate(simulation, n_steps: int) -> float:
    """Node updates per second."""
    return 1e6 * simulation.timed_mflups(n_steps)


def _seconds(work, backend) -> float:
    backend.synchronise()
    start = time.perf_counter()
    work()
    backend.synchronise()
    return time.perf_counter() - start
