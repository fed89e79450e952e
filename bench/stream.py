"""Speed of a complete time step relative to the copy bandwidth of the device, measured in the same run, and the memory
traffic of fields other than the populations, counted from the model."""

import gc
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import numpy as np

import muphy_lb
from muphy_lb.backends import make_backend, resolve_backend
from muphy_lb.backends.copying import copy_bandwidth_tb_s
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.case.case import Case
from muphy_lb.domain import WARP
from muphy_lb.engine.autotune import use_threads
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.lattice import lattice_named
from muphy_lb.model.model import FieldValue, Model
from muphy_lb.run.solver import Solver


def table_bytes(table) -> int:
    """Size of a backend's form of an address table: an array, or a tuple with arrays."""
    return sum(getattr(part, "nbytes", 0) for part in (table if isinstance(table, tuple) else (table,)))


def field_numbers(model: Model) -> tuple[int, int]:
    """Numbers per node and step, populations aside: at least, and with the neighbours of stencils.

    The minimum counts the fields and node arrays passed to node functions, each of which is read or written, and the
    old and the new value, or populations, of every advanced field. A stencil also reads the old values of neighbours,
    which are cache hits if other nodes have loaded them.
    """
    advanced = {field.name: field for field in model.fields if field.is_advanced}
    stages = (stage for stage in model.after if not advanced.keys().isdisjoint(stage.writes))
    handed = chain(model.parameters.values(), *(each.parameters.values() for each in stages))
    own = sum(2 * len(field.components) for field in advanced.values())
    least = sum(isinstance(value, FieldValue | np.ndarray) for value in handed) + own
    return least, least + sum(model.lattice.q - 1 for field in advanced.values() if not field.streaming)


def field_bytes(engine) -> int:
    """Bytes that the fields of a rank move in a step, at least: their numbers, stencil tables, extrapolated values."""
    real = np.dtype(engine.real).itemsize
    numbers = field_numbers(engine.model)[0] * engine.domain.n_nodes * real
    advanced = (field.name for field in engine.model.fields if field.is_advanced)
    return numbers + sum(_stencil_bytes(engine, name, real) for name in advanced)


def _stencil_bytes(engine, name: str, real: int) -> int:
    """The table, and for every extrapolated value its record, the values that it is computed from, and itself."""
    table, runs = engine.fields.table_of(name)
    (n_terms, n_values), index = table.extrapolated.index.shape, table.extrapolated.index.dtype.itemsize
    bytes_each = n_terms * (index + 2 * real) + 2 * real
    return table_bytes(runs) + n_values * bytes_each


# Steps enqueued to measure the host time of a launch: too few to fill the queue of the device and block the host.
STEPS_ENQUEUED, ENQUEUE_REPETITIONS = 64, 5


Threads = tuple[int | None, ...]  # threads of a block; None for the device's own choice


@dataclass(frozen=True)
class ComputeVariant:
    """The keys of ``[compute]`` that vary between measurements."""

    precision: str
    streaming: str
    order: str


@dataclass(frozen=True)
class Effort:
    """Length of a measurement: ``n_runs`` runs of ``n_steps`` steps."""

    n_steps: int = 200
    n_runs: int = 5


@dataclass(frozen=True)
class Measurement:
    """Timing of a variant of a case."""

    kernel: str  # velocity set and collision
    device: str
    backend: str
    ranks: int
    n_fluid: int  # nodes of all ranks; ``box`` (nx, ny, nz) is what they lie in
    box: tuple[int, int, int]
    precision: str
    streaming: str
    order: str
    n_steps: int
    n_runs: int
    mflups: float  # million fluid-node updates per second of the whole time step, all ranks, median of the runs
    mflups_low: float  # mflups_low, mflups_high: extremes of the runs
    mflups_high: float
    # bytes that a node update moves, counted: Q populations read and Q written in storage format;
    # ``table_bytes_per_update``: the table that a step reads, over the nodes (in place the mean of two steps); and
    # ``field_bytes_per_update``: what fields beside the populations add (:mod:`muphy_lb.bench.stream`)
    bytes_per_update: float
    table_bytes_per_update: float
    field_bytes_per_update: float
    # populations and fields that a node update reads or writes at least; ``numbers_asked``: with the neighbours' values
    # that stencils ask for
    numbers_per_update: int
    numbers_asked: int
    moved_tb_s: float  # bytes_per_update times updates per second and rank
    # bandwidth of a large copy on the same device, bytes read plus written; mean of the ranks. It is measured before
    # the case takes its memory, and on the host once more after the runs: the better counts.
    copy_tb_s: float
    fraction: float  # moved_tb_s / copy_tb_s
    bytes_per_node: float  # all device memory over the nodes; ``table_bytes_per_node`` of them are address tables
    table_bytes_per_node: float
    # mean number of runs of the address table for a warp and a direction; None where it is not compressed
    runs_per_warp: float | None
    # microseconds that the host takes to enqueue one step; None where it waits for the step (host backends, several
    # ranks)
    launch_us: float | None
    shape: str | None  # how stream-and-collide is launched; None where there is no choice
    # registers, local_bytes: of one thread of the stream-and-collide kernel; None where they are not known
    registers: int | None
    local_bytes: int | None

    def record(self) -> dict:
        """The measurement as a plain dictionary."""
        return asdict(self)


def measure(case: Case, nodes: NodeList | None, variant: ComputeVariant, effort: Effort, communicator) -> Measurement:
    """Time the whole time step (openings, exchange, bulk) of a case; collective. ``case``: the case; ``nodes``: its
    geometry, on rank 0; by default read according to the case; ``variant``: what to change in the case; ``effort``: how
    long."""
    return measure_blocks(case, nodes, variant, effort, communicator, (None,))[0]


def measure_blocks(
    case: Case, nodes: NodeList | None, variant: ComputeVariant, effort: Effort, communicator, threads: Threads
) -> list[Measurement]:
    """The same in blocks of several sizes, one after the other. ``threads``: of a block of stream-and-collide, None
    (only as the first) for the device's own choice. Raises InputError: the device has no blocks of that many
    threads."""
    case = case.model_copy(update={"compute": case.compute.model_copy(update=asdict(variant))})
    copy_tb_s = _copy_tb_s(case, communicator)
    simulation, found = Solver(case, communicator, nodes), []
    for of_block in threads:
        if of_block:
            use_threads(simulation.engine, of_block)
            simulation.upload_schedule()
        found.append(_measured(simulation, variant, effort, copy_tb_s))
    return found


def _measured(simulation: Solver, variant: ComputeVariant, effort: Effort, copy_tb_s: float) -> Measurement:
    communicator = simulation.communicator
    simulation.step(max(1, effort.n_steps // 4))
    rates = sorted(1e6 * simulation.timed_mflups(effort.n_steps) for _ in range(effort.n_runs))
    is_alone, engine = communicator.size == 1 and not simulation.engine.backend.on_host, simulation.engine
    launch_us = min(_enqueue_us(engine) for _ in range(ENQUEUE_REPETITIONS)) if is_alone else None
    simulation.health()
    if simulation.engine.backend.on_host:  # the speed of shared machines varies; a GPU may have no memory left
        copy_tb_s = max(copy_tb_s, _copy_tb_s(simulation.case, communicator))
    return Measurement(
        kernel=f"{simulation.lattice.name} {simulation.engine.model.collision.name}",
        device=simulation.engine.backend.device,
        backend=simulation.engine.backend.name,
        ranks=communicator.size,
        n_fluid=simulation.header.n_nodes,
        box=simulation.header.shape[::-1],
        **asdict(variant),
        **asdict(effort),
        mflups=statistics.median(rates) / 1e6,
        mflups_low=rates[0] / 1e6,
        mflups_high=rates[-1] / 1e6,
        **_traffic(simulation, statistics.median(rates), copy_tb_s),
        launch_us=launch_us,
        **_compiled(simulation.engine),
    )


def shape_text(shape) -> str | None:
    """A launch shape as text."""
    return " ".join(map(str, shape)) if isinstance(shape, tuple) else shape


def _copy_tb_s(case: Case, communicator) -> float:
    """Mean over the ranks, on the device of a case."""
    gc.collect()  # earlier measurements may still hold memory in reference cycles
    lattice, precision = lattice_named(case.lattice.name), PRECISIONS[case.compute.precision]
    backend = make_backend(resolve_backend(case.compute.backend), lattice, precision, communicator.local_rank)
    return communicator.total(copy_bandwidth_tb_s(backend)) / communicator.size


def _traffic(simulation, rate: float, copy_tb_s: float) -> dict:
    """Fields of :class:`Measurement` about bytes; collective."""
    engine, n_nodes, total = simulation.engine, simulation.header.n_nodes, simulation.communicator.total
    bytes_per_node = total(engine.backend.allocated_bytes) / n_nodes
    sizes = [total(table_bytes(table)) / n_nodes for table in engine.tables]
    of_fields, populations = total(field_bytes(engine)) / n_nodes, 2 * simulation.lattice.q
    bytes_per_update = populations * np.dtype(engine.precision.storage).itemsize + statistics.mean(sizes) + of_fields
    least, asked = field_numbers(engine.model)
    moved_tb_s = rate * bytes_per_update / simulation.communicator.size / 1e12
    return {
        "bytes_per_update": bytes_per_update,
        "table_bytes_per_update": statistics.mean(sizes),
        "field_bytes_per_update": of_fields,
        "numbers_per_update": populations + least,
        "numbers_asked": populations + asked,
        "moved_tb_s": moved_tb_s,
        "copy_tb_s": copy_tb_s,
        "fraction": moved_tb_s / copy_tb_s,
        "bytes_per_node": bytes_per_node,
        "table_bytes_per_node": sum(sizes),
        "runs_per_warp": _runs_per_warp(engine),
    }


def _runs_per_warp(engine) -> float | None:
    """Runs of this rank's tables for a warp and a direction."""
    if not all(hasattr(table, "bases") for table in engine.tables):
        return None
    n_runs = sum(table.bases.size - 1 for table in engine.tables)
    n_rows = engine.domain.pitch // WARP * sum(len(pattern.directions) for pattern in engine.addresses.patterns)
    return n_runs / n_rows


def _compiled(engine) -> dict:
    """Fields of :class:`Measurement` about the kernel."""
    usage = engine.stream_usage()
    return {
        "shape": shape_text(engine.shape or engine.backend.launch_shapes(engine.addresses.patterns[0])[0]),
        "registers": usage.registers if usage else None,
        "local_bytes": usage.local_bytes if usage else None,
    }


def _enqueue_us(engine) -> float:
    """Microseconds to enqueue one step; advances the flow."""
    engine.backend.synchronise()
    start = time.perf_counter()
    engine.advance(STEPS_ENQUEUED)
    taken = time.perf_counter() - start
    engine.backend.synchronise()
    return 1e6 * taken / STEPS_ENQUEUED


HEADER = (
    f"{'precision':<9} {'streaming':<9} {'order':<13} {'MFLUPS':>9} {'(low-high)':>15} {'B/update':>8} {'TB/s':>6}"
    f" {'copy':>6} {'share':>6} {'B/node':>7} {'table':>6} {'runs':>5} {'launch us':>9} {'shape':>12} {'registers':>9}"
    f" {'local B':>7}"
)
LEGEND = (
    "B/update: bytes that a node update moves, tables and fields included; share: of the copy bandwidth, measured"
    " beside it;\n"
    "B/node: all device memory; table: bytes a node of it that hold addresses; runs: of a table, for a warp and a"
    " direction;\nlaunch us: host time to enqueue a step"
)


def head(title: str, measurement: Measurement) -> str:
    """The heading of the rows."""
    m = measurement
    ranks = "1 rank" if m.ranks == 1 else f"{m.ranks} ranks"
    return "\n".join(
        [
            f"{title}: {m.n_fluid:,} nodes in {' x '.join(f'{edge:,}' for edge in m.box)} voxels,"
            f" {m.n_steps} steps, {ranks}",
            f"{m.kernel} on {m.device}",
            HEADER,
        ]
    )


def row(m: Measurement) -> str:
    """Row below HEADER."""
    spread = f"({m.mflups_low:.4g}-{m.mflups_high:.4g})"
    return (
        f"{m.precision:<9} {m.streaming:<9} {m.order:<13} {m.mflups:>9.5g} {spread:>15} {m.bytes_per_update:>8.1f}"
        f" {m.moved_tb_s:>6.3f} {m.copy_tb_s:>6.3f} {m.fraction:>6.1%} {m.bytes_per_node:>7.1f}"
        f" {m.table_bytes_per_node:>6.1f} {known(m.runs_per_warp, '.2f'):>5} {known(m.launch_us, '.2f'):>9}"
        f" {known(m.shape):>12} {known(m.registers):>9} {known(m.local_bytes):>7}"
    )


def known(value, form: str = "") -> str:
    """The value in a format, a dash where there is none."""
    return "-" if value is None else format(value, form)


def record(title: str, device: str, measurements: Sequence[dict]) -> dict:
    """A whole benchmark as plain dictionaries, lists, numbers and texts."""
    return {
        "title": title,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": muphy_lb.__version__,
        "commit": commit(),
        "command": shlex.join(["muphy-lb", *sys.argv[1:]]),
        "device": device,
        "measurements": list(measurements),
    }


def commit() -> str | None:
    """``git describe`` of the checkout that runs; None where the program is installed, or git is missing."""
    checkout = Path(muphy_lb.__file__).resolve().parents[1]
    if not (checkout / ".git").exists():
        return None
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--tags"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
