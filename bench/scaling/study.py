"""A scaling study: one case on more and more ranks, timed, with what its messages weigh and where the time goes. Ranks
that do not take part in a measurement sleep until it ends."""

import gc
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.bench.jobs import Job
from muphy_lb.bench.scaling.problem import MEANING, problem
from muphy_lb.bench.stream import Effort
from muphy_lb.run.solver import Solver
from muphy_lb.run.trace import stage_seconds

COMPUTE, PACK, EXCHANGE = ("openings", "interior", "walls", "edge"), ("pack", "unpack"), ("exchange",)
STAGES = (*COMPUTE, *PACK, *EXCHANGE)
# Largest number of populations of a short message, to measure the latency, and of a complete one.
SHORT, WHOLE = 16, 1 << 60
STAGED_STEPS = 50  # steps whose stages are timed one by one


@dataclass(frozen=True)
class SeriesVariant:
    """The keys of ``[compute]`` that differ between series."""

    precision: str
    streaming: str
    transport: str


@dataclass(frozen=True)
class ScalingPlan:
    """The points to measure."""

    ranks: tuple[int, ...]  # numbers of ranks, ascending; the first is what the others are compared with
    mode: str  # key of :data:`muphy_lb.bench.scaling.problem.MEANING`
    variants: tuple[SeriesVariant, ...]  # the series
    effort: Effort  # how long each measurement is


@dataclass(frozen=True)
class Point:
    """Timing of a case on a number of ranks."""

    # the series that it belongs to; on one rank nothing travels, and it belongs to those of all transports
    variant: SeriesVariant
    ranks: int
    transport: str  # how messages travelled; different ways on different ranks are joined by commas
    device: str
    kernel: str
    n_nodes: int  # fluid nodes of all ranks; ``box`` (nx, ny, nz) is what they lie in
    box: tuple[int, int, int]
    is_periodic: bool
    # most_nodes, most_edge_nodes, most_halo_bytes, most_neighbours: largest over the ranks; halo bytes are sent a step
    most_nodes: int
    most_edge_nodes: int
    most_halo_bytes: float
    most_neighbours: int
    edge_share: float  # edge nodes of all ranks over all nodes
    bytes_per_node: float  # all device memory over the nodes
    storage_bytes: int  # of one population
    crossing: int  # number of a node's populations that cross one of its faces
    n_steps: int
    n_runs: int
    # million node updates per second, all ranks, median of the runs; ``mflups_low``, ``mflups_high``: extremes
    mflups: float
    mflups_low: float
    mflups_high: float
    # seconds of a step by stage, from its start to its end, largest over the ranks; some run side by side
    stages: dict[str, float] = field(default_factory=dict)
    efficiency: float = 1.0  # MFLUPS per rank over those on the fewest ranks of the series
    # seconds of an isolated exchange; ``short_exchange_s``: with messages of ``short_bytes`` in all
    exchange_s: float = 0.0
    short_exchange_s: float = 0.0
    short_bytes: float = 0.0

    @property
    def nodes_per_rank(self) -> float:
        """Mean number of nodes per rank."""
        return self.n_nodes / self.ranks

    @property
    def speed_up(self) -> float:
        """Speed-up: efficiency times number of ranks."""
        return self.efficiency * self.ranks

    @property
    def step_s(self) -> float:
        """Seconds of a step, from the median of the runs."""
        return 1e-6 * self.n_nodes / self.mflups

    @property
    def split_s(self) -> dict[str, float]:
        """Seconds per step of computing, of packing and unpacking, and of exchanging and waiting."""
        groups = {"compute": COMPUTE, "pack": PACK, "exchange": EXCHANGE}
        return {group: sum(self.stages.get(name, 0.0) for name in names) for group, names in groups.items()}

    @classmethod
    def of_record(cls, table: dict) -> "Point":
        """The inverse of :meth:`record`. Raises KeyError, TypeError: it is not such a record."""
        variant = SeriesVariant(table["precision"], table["streaming"], table["transport_asked"])
        names = {item.name for item in fields(cls)} - {"variant"}
        values = {name: table[name] for name in names & table.keys()}
        return cls(variant, **values | {"box": tuple(table["box"])})

    def record(self) -> dict:
        """The point as a plain dictionary."""
        table = {key: value for key, value in asdict(self).items() if key != "variant"}
        derived = {"speed_up": self.speed_up, "ms_per_step": 1e3 * self.step_s}
        split = {f"{group}_ms": 1e3 * seconds for group, seconds in self.split_s.items()}
        asked = asdict(self.variant) | {"transport": self.transport, "transport_asked": self.variant.transport}
        return table | asked | derived | split


def read_study(path) -> tuple[str, list[Point]]:
    """Mode and points of a study that was written as JSON. Raises InputError: the file cannot be read, or contains no
    study."""
    try:
        study = json.loads(Path(path).read_text(encoding="utf-8"))
        points = [Point.of_record(table) for table in study["measurements"]]
        mode = study["mode"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise InputError(
            f"{path} holds no scaling study ({reason}); give a file that muphy-lb scaling --json has written"
        ) from error
    if not points:
        raise InputError(f"the study in {path} has no finished point; run muphy-lb scaling --json again")
    return mode, points


def run_study(base: Job, plan: ScalingPlan, communicator, report: Callable[[Sequence[Point]], None]) -> list[Point]:
    """Measure all points of a plan; collective. Ranks that are not needed for a point sleep. ``base``: the case on one
    rank; ``plan``: the measurements; it must not need more ranks than there are; ``report``: called with all points so
    far whenever one is added, on every rank that measured it. Returns all points on rank 0, on every other rank those
    that it measured. Raises MuphyError: the case cannot be run on that many ranks, or in that variant."""
    points: list[Point] = []
    for n_ranks in plan.ranks:
        some = communicator.first(n_ranks)
        if some is not None:
            job = problem(base, plan.mode, some)
            for variant in distinct(plan.variants, n_ranks):
                point = measure(job, variant, plan.effort, some)
                first = next(iter(series(points, variant)), point)  # the efficiency is against the first of its series
                relative = point.mflups / point.ranks / (first.mflups / first.ranks)
                points.append(replace(point, efficiency=relative))
                report(points)
        wait_for_ranks(communicator, n_ranks)
    return points


def distinct(variants: Sequence[SeriesVariant], n_ranks: int) -> list[SeriesVariant]:
    """The variants that differ on a number of ranks; on a single one there is no transport."""
    kinds = {(v.precision, v.streaming, v.transport if n_ranks > 1 else None): v for v in reversed(variants)}
    return list(reversed(kinds.values()))


def series(points: Sequence[Point], variant: SeriesVariant) -> list[Point]:
    """The points of a variant in order of their ranks; points on one rank belong to every transport."""
    alone = variant.precision, variant.streaming
    return [
        point
        for point in points
        if (
            point.variant == variant if point.ranks > 1 else alone == (point.variant.precision, point.variant.streaming)
        )
    ]


def named_series(points: Sequence[Point], variants: Sequence[SeriesVariant]) -> dict[str, list[Point]]:
    """The points of each variant under a name with its distinguishing values, which include the transport."""
    varied = [key for key in ("precision", "streaming") if len({getattr(v, key) for v in variants}) > 1]
    groups = {}
    for variant in variants:
        chosen = series(points, variant)
        used = chosen[-1].transport
        travels = used if variant.transport == used else f"{variant.transport} ({used})"
        groups[", ".join([travels, *(getattr(variant, key) for key in varied)])] = chosen
    return groups


def measure(job: Job, variant: SeriesVariant, effort: Effort, communicator) -> Point:
    """Time a case in one variant on all ranks of a communicator; collective. Raises MuphyError: the case cannot be run
    in that variant."""
    gc.collect()  # what was measured before may hold most of the memory, in cycles
    compute = job.case.compute.model_copy(update=asdict(variant))
    simulation = Solver(job.case.model_copy(update={"compute": compute}), communicator, job.nodes)
    simulation.step(max(1, effort.n_steps // 4))
    rates = sorted(simulation.timed_mflups(effort.n_steps) for _ in range(effort.n_runs))
    simulation.health()
    measured = stage_seconds(simulation, min(effort.n_steps, STAGED_STEPS))
    engine, lattice, header = simulation.engine, simulation.lattice, simulation.header
    names = communicator.gather(engine.transport)
    return Point(
        variant=variant,
        ranks=communicator.size,
        transport=communicator.broadcast(names and ",".join(sorted(set(names)))),
        device=engine.backend.device,
        kernel=f"{lattice.name} {engine.model.collision.name}",
        n_nodes=header.n_nodes,
        box=header.shape[::-1],
        is_periodic=all(header.periodic[: lattice.dimension]),
        **_sizes(simulation),
        storage_bytes=np.dtype(engine.precision.storage).itemsize,
        crossing=int((lattice.c[:, 0] == 1).sum()),
        n_steps=effort.n_steps,
        n_runs=effort.n_runs,
        mflups=statistics.median(rates),
        mflups_low=rates[0],
        mflups_high=rates[-1],
        stages={name: communicator.maximum(measured.get(name, 0.0)) for name in STAGES},
        **_exchanges(engine, communicator),
    )


def _exchanges(engine, communicator) -> dict:
    """Fields of :class:`Point` about exchanges by themselves, after which the flow is no longer any; collective."""
    if communicator.size == 1:
        return {}
    short = SHORT * len(engine.domain.halo.neighbours) * np.dtype(engine.precision.storage).itemsize
    return {
        "exchange_s": engine.exchange_seconds(WHOLE),
        "short_exchange_s": engine.exchange_seconds(SHORT),
        "short_bytes": float(communicator.maximum(short)),
    }


def _sizes(simulation) -> dict:
    """Fields of :class:`Point` about nodes, halo and memory; collective."""
    engine, domain, n_nodes = simulation.engine, simulation.domain, simulation.header.n_nodes
    maximum, total = simulation.communicator.maximum, simulation.communicator.total
    return {
        "most_nodes": maximum(domain.n_nodes),
        "most_edge_nodes": maximum(domain.n_edge),
        "most_halo_bytes": maximum(engine.halo_bytes),
        "most_neighbours": maximum(len(domain.halo.neighbours)),
        "edge_share": total(domain.n_edge) / n_nodes,
        "bytes_per_node": total(engine.backend.allocated_bytes) / n_nodes,
    }


POLL_S = 0.02


def wait_for_ranks(communicator, n_ranks: int) -> None:
    """Wait until the first ``n_ranks`` ranks have finished, polling with sleeps instead of busy waiting; collective."""
    token = np.zeros(1, dtype=np.int8)
    if communicator.rank == 0:
        for rank in range(n_ranks, communicator.size):
            communicator.send(token, rank)
    elif communicator.rank >= n_ranks:
        request = communicator.start_receive(token, 0)
        while not request.Test():
            time.sleep(POLL_S)


HEADER = (
    f"{'ranks':>5} {'transport':>10} {'precision':>9} {'streaming':>9} {'nodes':>14} {'a rank':>12} {'MFLUPS':>8}"
    f" {'(low-high)':>15} {'speed-up':>8} {'effic.':>6} {'ms/step':>8} {'halo kB':>8} {'edge':>6} {'compute':>8}"
    f" {'pack':>7} {'exchange':>8}"
)
LEGEND = (
    "nodes: of all ranks, and the mean per rank; MFLUPS: million node updates per second of all ranks, median of the"
    " runs;\nspeed-up: ranks times efficiency; efficiency: MFLUPS per rank over those on the fewest ranks;"
    " halo kB: most that a rank sends in a step;\nedge: share of nodes that wait for messages or openings;"
    " compute, pack, exchange: ms per step of each on the slowest rank for it"
    "\n(pack: with unpacking; exchange: messages and waiting); where they overlap, their sum exceeds ms/step"
)


def head(title: str, mode: str, point: Point) -> str:
    """The heading of the rows."""
    box = " x ".join(f"{edge:,}" for edge in point.box)
    nodes = f"{point.n_nodes:,} nodes in {box} voxels on {point.ranks} rank{'s' * (point.ranks > 1)}"
    effort = f"median of {point.n_runs} runs of {point.n_steps:,} steps"
    lines = [
        f"{title}: {nodes}, {effort}",
        f"{mode} scaling: {MEANING[mode]}",
        f"{point.kernel} on {point.device}",
        HEADER,
    ]
    return "\n".join(lines)


def row(point: Point) -> str:
    """Row below HEADER."""
    spread = f"({_rate(point.mflups_low)}-{_rate(point.mflups_high)})"
    compute, pack, exchange = (1e3 * seconds for seconds in point.split_s.values())
    return (
        f"{point.ranks:>5} {point.transport:>10} {point.variant.precision:>9} {point.variant.streaming:>9}"
        f" {point.n_nodes:>14,} {point.nodes_per_rank:>12,.0f} {_rate(point.mflups):>8} {spread:>15}"
        f" {point.speed_up:>8.3f} {point.efficiency:>6.1%} {1e3 * point.step_s:>8.4g}"
        f" {1e-3 * point.most_halo_bytes:>8.4g} {point.edge_share:>6.2%} {compute:>8.4g} {pack:>7.3g} {exchange:>8.3g}"
    )


def _rate(mflups: float) -> str:
    return f"{mflups:.0f}" if mflups >= 1000.0 else f"{mflups:.4g}"
