"""Speed of a complete time step relative to the copy bandwidth of the device, measured in the same run."""

import gc
import statistics
import time
from dataclasses import asdict, dataclass

import numpy as np

from muphy_lb.backends import make_backend, resolve_backend
from muphy_lb.backends.copying import copy_bandwidth_tb_s
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.bench.traffic import field_bytes, field_numbers, table_bytes
from muphy_lb.case.case import Case
from muphy_lb.domain import WARP
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.lattice import lattice_named
from muphy_lb.run.simulation import Simulation

# Steps enqueued to measure the host time of a launch: too few to fill the queue of the device and block the host.
STEPS_ENQUEUED = 64
ENQUEUE_REPETITIONS = 5


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
    """One variant of a case, timed."""

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
    # ``field_bytes_per_update``: what fields beside the populations add (:mod:`muphy_lb.bench.traffic`)
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
    case = case.model_copy(update={"compute": case.compute.model_copy(update=asdict(variant))})
    copy_tb_s = _copy_tb_s(case, communicator)
    simulation = Simulation(case, communicator, nodes)
    simulation.step(max(1, effort.n_steps // 4))
    rates = sorted(1e6 * simulation.timed_mflups(effort.n_steps) for _ in range(effort.n_runs))
    launch_us = _launch_us(simulation.engine) if communicator.size == 1 else None
    simulation.health()
    if simulation.engine.backend.on_host:  # the speed of shared machines varies; a GPU may have no memory left
        copy_tb_s = max(copy_tb_s, _copy_tb_s(case, communicator))
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


def _launch_us(engine) -> float | None:
    """Microseconds to enqueue one step; advances the flow."""
    return None if engine.backend.on_host else min(_enqueue_us(engine) for _ in range(ENQUEUE_REPETITIONS))


def _enqueue_us(engine) -> float:
    engine.backend.synchronise()
    start = time.perf_counter()
    engine.advance(STEPS_ENQUEUED)
    taken = time.perf_counter() - start
    engine.backend.synchronise()
    return 1e6 * taken / STEPS_ENQUEUED
