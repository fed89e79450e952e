"""Reproduction of Table I of the MUPHY paper: separate costs of loading, storing and collision.

Bernaschi, Fatica, Melchionna, Succi, Kaxiras, Concurrency Computat.: Pract. Exper. 22 (2010; online 2009),
doi 10.1002/cpe.1466: four kernels on 62 x 30 x 30 nodes, D3Q19, on a C870, and a whole step on 64 x 32 x 32 nodes; a
larger box shows what caches hide. A node's populations are loaded from its own rows; then stored there again (in
another buffer), or scattered to the neighbours through the address table; with a BGK collision in between, or without.
Here the kernels are those of a time step: push is replaced by a pattern that stores populations where they were, and
the collision by an operator that does nothing.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import prod

import numpy as np

from muphy_lb.backends import make_backend, resolve_backend
from muphy_lb.backends.arrays import NodeRange, StreamArrays
from muphy_lb.backends.copying import copy_bandwidth_tb_s
from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.bench.papers import published
from muphy_lb.bench.papers.table import PaperTable, Rows, Study
from muphy_lb.bench.stream import Effort, known, shape_text, table_bytes
from muphy_lb.case.section import names_among
from muphy_lb.domain import PUSH, AddressTable, build_addresses, build_local_domain
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.lattice import lattice_named
from muphy_lb.model.isothermal import Fluid, isothermal
from muphy_lb.operators import Operator

NAME, PAPER_BOX, ALIGNED_BOX, BOX_EDGE, RELAXATION_TIME = "table1", (62, 30, 30), (64, 32, 32), 216, 0.8
NOISE, NOISE_SIZE = 1e-3, 1 << 20
# Launches recorded as one, so that a device is timed and not the host that launches.
RECORDED = 16
HEADER = (
    f"{'kernel':<32} {'precision':>9} {'box':>15} {'nodes':>11} {'us/launch':>10} {'MFLUPS':>8} {'B/update':>8}"
    f" {'GB/s':>7} {'copy':>6} {'shape':>12} {'registers':>9} {'local B':>7}"
)
LEGEND = (
    "GB/s: bytes read and written, address table included; copy: GB/s of a large copy, which a box that fits into the"
    " caches can beat"
)


@dataclass(frozen=True)
class KernelVariant:
    """A kernel: whether it computes, whether it scatters; ``operator``: the arithmetic, the collision if not given."""

    name: str
    computes: bool
    scatters: bool
    operator: Operator | None = None


ROWS = tuple(KernelVariant(name, "compute" in name, "scattered" in name) for name in published.TABLE_I_KERNELS)


@dataclass(frozen=True)
class KernelTiming:
    """Timing of a kernel on a box."""

    kernel: str
    device: str
    precision: str
    box: tuple[int, int, int]  # (nx, ny, nz) of the periodic box, all fluid
    n_nodes: int
    us_per_launch: float  # microseconds of a launch among many, median of the runs
    mflups: float  # million nodes per second
    bytes_per_update: float  # bytes that a node moves: populations read and written, and its share of the address table
    gb_s: float  # bytes_per_update times nodes per second; ``copy_gb_s`` of a large copy
    copy_gb_s: float
    shape: str | None
    registers: int | None  # registers, local_bytes: of one thread; None where they are not known
    local_bytes: int | None

    def record(self) -> dict:
        """The timing as a plain dictionary."""
        return asdict(self)


def time_rows(box: tuple[int, int, int], backend_name: str, precision: str, effort: Effort):
    """Yield the timing of every row of the table on one box. ``box``: (nx, ny, nz) voxels; ``backend_name``: as in a
    case file; ``precision``: key of ``PRECISIONS``; ``effort``: launches of a run, and runs. Raises BackendError: the
    backend cannot be used here, or not in this precision."""
    lattice = lattice_named("D3Q19")
    backend = make_backend(resolve_backend(backend_name), lattice, PRECISIONS[precision])
    copy_gb_s = 1e3 * copy_bandwidth_tb_s(backend)
    kernels = Kernels(backend, box_addresses(box, lattice))
    for row in ROWS:
        seconds = kernels.seconds_per_launch(row, effort)
        rate, n_bytes, usage = prod(box) / seconds, kernels.bytes_per_update(row), kernels.usage(row)
        yield KernelTiming(
            kernel=row.name,
            device=backend.device,
            precision=precision,
            box=box,
            n_nodes=prod(box),
            us_per_launch=1e6 * seconds,
            mflups=rate / 1e6,
            bytes_per_update=n_bytes,
            gb_s=rate * n_bytes / 1e9,
            copy_gb_s=copy_gb_s,
            shape=shape_text(backend.launch_shapes(kernels.pattern(row))[0]),
            registers=usage.registers if usage else None,
            local_bytes=usage.local_bytes if usage else None,
        )


def box_addresses(box: tuple[int, int, int], lattice) -> AddressTable:
    """The addresses of push in a periodic box (nx, ny, nz) of nothing but fluid."""
    nodes = build_nodes(build_shape("random_solid", shape_zyx=box[::-1], porosity=1.0))
    owner = np.broadcast_to(np.int32(0), nodes.n_nodes)
    return build_addresses(build_local_domain(nodes, owner, 0, lattice), PUSH)


def text(timing: KernelTiming) -> str:
    """Row below HEADER."""
    box = " x ".join(map(str, timing.box))
    return (
        f"{timing.kernel:<32} {timing.precision:>9} {box:>15} {timing.n_nodes:>11,} {timing.us_per_launch:>10.5g}"
        f" {timing.mflups:>8.5g} {timing.bytes_per_update:>8.1f} {timing.gb_s:>7.4g} {timing.copy_gb_s:>6.4g}"
        f" {known(timing.shape):>12} {known(timing.registers):>9} {known(timing.local_bytes):>7}"
    )


def time_table_1(options, say: Callable[[str], None], communicator) -> Study:
    """The kernels on the paper's two boxes and on one that fills a GPU. Raises InputError: several ranks."""
    if communicator.size > 1:
        raise InputError(f"bench: --paper {NAME} runs in one process, and {communicator.size} ranks were started")
    edge, effort = options.size or BOX_EDGE, Effort(options.steps, options.runs)
    precisions = names_among(options.precision or "fp32", tuple(PRECISIONS), "bench: --precision")
    timings = []
    say(f"Bernaschi et al. 2009, Table I\n{HEADER}")
    for box, precision in product((PAPER_BOX, ALIGNED_BOX, (edge,) * 3), precisions):
        for timing in time_rows(box, options.backend or "auto", precision, effort):
            say(text(timing))
            timings.append(timing)
    say(LEGEND)
    found = tables([timing for timing in timings if timing.precision == precisions[0]])
    return Study(NAME, timings[0].device, [timing.record() for timing in timings], found)


def tables(timings: Sequence[KernelTiming]) -> Mapping[PaperTable, Rows]:
    """The rows beside the paper's tables."""
    by_box: dict[tuple, dict[str, KernelTiming]] = {}
    for timing in timings:
        by_box.setdefault(timing.box, {})[timing.kernel] = timing
    local, scattered, computed, whole = (row.name for row in ROWS)

    def rows(kernels):
        return {
            t.kernel: (1e-3 * t.us_per_launch, t.gb_s, t.mflups if "compute" in t.kernel else None)
            for t in kernels.values()
        }

    costs = {
        " x ".join(map(str, box)): tuple(
            kernels[slow].us_per_launch / kernels[fast].us_per_launch
            for fast, slow in ((local, scattered), (computed, whole))
        )
        for box, kernels in by_box.items()
    }
    aligned = {whole: rows(by_box[ALIGNED_BOX])[whole]}
    return {
        published.TABLE_I: rows(by_box[PAPER_BOX]),
        published.TABLE_I_ALIGNED: aligned,
        published.SCATTERING: costs,
    }


class Kernels:
    """The kernels of the rows, bound to two buffers of noise and the table of push. ``backend``: the device;
    ``addresses``: of a domain, for push."""

    def __init__(self, backend, addresses):
        self.backend, self._push = backend, addresses.patterns[0]
        self._n_nodes, self._q_count = addresses.domain.n_nodes, backend.lattice.q
        self._table = backend.stream_table(addresses, 0)
        self._model = isothermal(backend.lattice, Fluid((1.0 / RELAXATION_TIME,)), "push")
        noise = np.random.default_rng(0).uniform(-NOISE, NOISE, NOISE_SIZE) * backend.precision.unit
        stored = np.resize(noise.astype(backend.precision.storage), addresses.n_slots)
        self.buffers = [backend.array(stored) for _ in range(2)]

    def pattern(self, row: KernelVariant):
        """Destination of the populations: the neighbours, or where they were."""
        return self._push if row.scatters else replace(self._push, directions=(), store=self._push.load)

    def bytes_per_update(self, row: KernelVariant) -> float:
        """Bytes that a node moves."""
        own = 2 * self._q_count * np.dtype(self.backend.precision.storage).itemsize
        return own + (table_bytes(self._table) / self._n_nodes if row.scatters else 0.0)

    def usage(self, row: KernelVariant):
        """Resources of a thread of the kernel of a row that has been launched."""
        return self.backend.stream_collide_usage(self._operator(row), self._arrays(row, 0))

    def launches(self, row: KernelVariant) -> list:
        """Launches from the first buffer to the second, and back."""
        operator, nodes = self._operator(row), NodeRange(0, self._n_nodes)
        values = tuple(self.backend.precision.real(self._model.parameters[p.name]) for p in operator.parameters)
        arrays = [self._arrays(row, k) for k in (0, 1)]
        return [self.backend.bind("stream_collide", operator, each, nodes, values) for each in arrays]

    def seconds_per_launch(self, row: KernelVariant, effort: Effort) -> float:
        """Duration [s] of one of many launches, median of the runs."""
        launches = self.launches(row)
        for launch in launches:
            launch()
        self.backend.synchronise()
        many, n_calls = self.backend.record(launches * (RECORDED // 2)), max(1, effort.n_steps // RECORDED)
        many()
        runs = [_seconds(many, n_calls, self.backend) for _ in range(effort.n_runs)]
        return statistics.median(runs) / (n_calls * RECORDED)

    def _operator(self, row: KernelVariant) -> Operator:
        return row.operator or (self._model.collision if row.computes else NOTHING)

    def _arrays(self, row: KernelVariant, k: int) -> StreamArrays:
        return StreamArrays(self.buffers[k], self.buffers[1 - k], self._table, self.pattern(row))


def _seconds(work, n_calls: int, backend) -> float:
    backend.synchronise()
    start = time.perf_counter()
    for _ in range(n_calls):
        work()
    backend.synchronise()
    return time.perf_counter() - start


def _unchanged(f, n, lattice, parameters):
    return f


def _leave(lattice, precision, jit, at):
    @jit
    def leave(f, n, parameters):
        pass

    return leave


NOTHING = Operator("nothing", _unchanged, _leave)
