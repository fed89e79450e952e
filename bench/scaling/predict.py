"""Extrapolation of the measured points to machines with many more GPUs: model, assumptions, and predictions."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from muphy_lb.bench.scaling import model
from muphy_lb.bench.scaling.study import Point

GPU_COUNTS = tuple(2**k for k in range(3, 13))
ROCK_NODES, ROCK_POROSITY = 10**11, 0.2
WAIT = 1.4  # longest step in which messages wait where they arrive, over the predicted one
HEADER = f"{'GPUs':>6} {'nodes':>16} {'per GPU':>14} {'GB/GPU':>8} {'ms/step':>9} {'MFLUPS':>12} {'effic.':>7}"


@dataclass(frozen=True)
class TargetMachine:
    """The machine to predict, beyond the measured one."""

    link: model.Link = model.Link(gb_s=25.0, latency_us=5.0)  # network between nodes of the machine
    gpus_per_node: int = 8  # GPUs of a node, connected like the measured ones
    gpu_gb: float = 141.0  # memory of a GPU [GB]


@dataclass(frozen=True)
class Subject:
    """A flow to predict: ``n_nodes`` in all, or per GPU if ``grows``, and the surface of its parts."""

    name: str
    n_nodes: float
    grows: bool
    surface: model.PartSurface


@dataclass(frozen=True)
class Prediction:
    """A flow on a number of GPUs."""

    subject: str
    gpus: int
    n_nodes: float
    step_s: float
    mflups: float
    efficiency: float  # node updates per second and GPU over those of a single GPU with enough memory for all nodes
    gpu_gb: float  # memory needed per GPU [GB]; ``fits``: whether it is available
    fits: bool


@dataclass(frozen=True)
class Forecast:
    """The model of one series."""

    name: str  # of the series
    points: tuple[Point, ...]  # what was measured; ``fit`` is the machine fitted to them
    fit: model.Fit
    surface: model.PartSurface | None  # of the parts of the study's geometry; ``cuts`` are what it was found from
    cuts: tuple[model.PartitionCut, ...]
    predictions: tuple[Prediction, ...]  # the numbers

    def record(self) -> dict:
        """The forecast as a plain dictionary; points are given by their numbers of ranks."""
        machine = asdict(self.fit.machine)
        machine["s_besides"] = machine.pop("s_overhead")  # the key in files of earlier versions
        table = asdict(self) | {"residuals": self.fit.residuals, "machine": machine}
        del table["fit"]
        return table | {"points": [point.ranks for point in self.points]}


def forecast(
    name: str, points: Sequence[Point], n_nodes: int | None, cuts: Sequence[model.PartitionCut], plans: TargetMachine
) -> Forecast:
    """Fit the model to the points of a series and extrapolate it to many GPUs. ``name``: of the series; ``points``: at
    least one, in order of their ranks; ``n_nodes``: of the flow to predict; without it the nodes grow with the GPUs, as
    many per GPU as measured on most ranks; ``cuts``: the geometry in many parts; by default those of the measured
    ranks, whose parts often have neighbours on some sides only; ``plans``: the machine."""
    last = points[-1]
    cuts = tuple(cuts) or tuple(model.cut_of_point(point) for point in points if point.ranks > 1)
    fit = model.fit_machine([observation(point) for point in points])
    surface = model.fit_surface(cuts, not last.is_periodic)
    grows = n_nodes is None
    size = last.nodes_per_rank if n_nodes is None else n_nodes
    rock = model.cube_surface(last.crossing, ROCK_POROSITY, surface.imbalance if surface else 1.0)
    subjects = [Subject("the case", size, grows, surface)] if surface else []
    subjects.append(Subject("rock", ROCK_NODES, False, rock))
    predictions = [predict(subject, n_gpus, last, fit.machine, plans) for subject in subjects for n_gpus in GPU_COUNTS]
    return Forecast(name, tuple(points), fit, surface, cuts, tuple(predictions))


def observation(point: Point) -> model.Observation:
    """A point as an observation of the model, with the load of the busiest rank: each number is the largest of any."""
    exchanges = ((point.short_bytes, point.short_exchange_s), (point.most_halo_bytes, point.exchange_s))
    shared = (point.most_edge_nodes, point.most_halo_bytes, point.most_neighbours) if point.ranks > 1 else ()
    load = model.RankLoad(point.most_nodes, *shared)
    return model.Observation(load, point.step_s, tuple(pair for pair in exchanges if pair[1] > 0.0))


def predict(subject: Subject, n_gpus: int, like: Point, machine: model.Machine, plans: TargetMachine) -> Prediction:
    """One flow on a number of GPUs, each with the load of the busiest. ``subject``: the flow; ``n_gpus``: number of
    GPUs; ``like``: a point that gives the bytes of a node and of a population; ``machine``: as fitted; ``plans``: the
    machine to predict."""
    n_nodes = subject.n_nodes * (n_gpus if subject.grows else 1)
    is_inside = n_gpus <= plans.gpus_per_node
    machine = machine if is_inside else model.across(machine, plans.link)
    load = subject.surface.load(n_nodes, n_gpus, like.storage_bytes)
    seconds, alone = model.step_seconds(machine, load), model.step_seconds(machine, model.RankLoad(n_nodes))
    gpu_gb = 1e-9 * load.nodes * like.bytes_per_node
    return Prediction(
        subject=subject.name,
        gpus=n_gpus,
        n_nodes=n_nodes,
        step_s=seconds,
        mflups=1e-6 * n_nodes / seconds,
        efficiency=alone / seconds / n_gpus,
        gpu_gb=gpu_gb,
        fits=gpu_gb <= plans.gpu_gb,
    )


def text(forecasts: Sequence[Forecast], plans: TargetMachine) -> str:
    """The models of all series as text, with their assumptions."""
    return "\n".join([*(_forecast_text(item, plans) for item in forecasts), *_assumptions(forecasts[0], plans)])


def _forecast_text(forecast: Forecast, plans: TargetMachine) -> str:
    ranks = ", ".join(str(point.ranks) for point in forecast.points)
    m, residuals = forecast.fit.machine, forecast.fit.residuals
    together = "beside the interior" if m.overlaps else "after the interior"
    errors = " ".join(f"{residual:+.1%}" for residual in residuals)
    lines = [
        f"model of {forecast.name}, fitted to what was measured on {ranks} ranks",
        f"  a GPU: {1e-6 * _inverse(m.s_per_node):,.5g} million nodes/s; overhead {1e6 * m.s_overhead:.3g} us per step"
        " on several GPUs",
        f"  halo: {together}; an exchange {1e6 * m.s_per_exchange:.3g} us and {1e-9 * _inverse(m.s_per_byte):.4g} GB/s,"
        " packing and unpacking included",
        f"  predicted step time against measured, by ranks: {errors} (at most {max(map(abs, residuals)):.1%})",
    ]
    for subject in dict.fromkeys(item.subject for item in forecast.predictions):
        chosen = [item for item in forecast.predictions if item.subject == subject]
        first, last, too_large = chosen[0], chosen[-1], [str(item.gpus) for item in chosen if not item.fits]
        grows = last.n_nodes > first.n_nodes
        nodes = f"{first.n_nodes / first.gpus:,.0f} nodes per GPU" if grows else f"{first.n_nodes:,.0f} nodes in all"
        lines += [f"{subject}, {nodes}; efficiency against a single GPU with enough memory for all", HEADER]
        lines += [_row(item) for item in chosen if item.fits]
        if too_large:
            lines.append(f"  on {', '.join(too_large)} GPUs it does not fit into {plans.gpu_gb:g} GB each")
    if not forecast.surface:
        lines.append("the case itself is not predicted: the communication between parts is unknown; measure two ranks")
    return "\n".join(lines)


def _assumptions(forecast: Forecast, plans: TargetMachine) -> list[str]:
    link, surface, cuts, lines = plans.link, forecast.surface, forecast.cuts, ["assumed:"]
    if surface:
        parts = ", ".join(str(cut.n_parts) for cut in cuts)
        lines += [
            f"  {surface.populations:.3g} m^(2/3) populations cross the surface of a part of m nodes of the case,"
            f" {surface.neighbours:.3g} parts are around it, the largest has {surface.imbalance:.3f} of the mean",
            f"  (found by cutting the geometry into {parts} parts by {cuts[0].method})",
        ]
        if surface.is_bounded:
            lines.append("  at the rim parts have fewer neighbours: of p parts 1 - p^(-1/3) of all surface is shared")
        elif cuts[-1].n_parts < GPU_COUNTS[0]:
            sides = "so few parts have neighbours on some sides only"
            lines.append(f"  {sides}: with more of them the halo is up to three times that")
    return [
        *lines,
        f"  a rock is cut into cubes, {ROCK_POROSITY:.0%} of each face open, 26 neighbours",
        f"  up to {plans.gpus_per_node} GPUs are connected as measured; beyond, messages also cross a network of"
        f" {link.gb_s:g} GB/s per GPU and {link.latency_us:g} us latency (bandwidth: as measured if that is smaller)",
        "  latencies of the messages of a GPU add up; none waits in the network or where it arrives:",
        f"  steps bound by messages may take {WAIT:g} times as long (simulated for 64 and 4,096 ranks)",
        "  a GPU is as fast with any number of nodes, and all are equally fast",
    ]


def _row(item: Prediction) -> str:
    return (
        f"{item.gpus:>6} {item.n_nodes:>16,.0f} {item.n_nodes / item.gpus:>14,.0f} {item.gpu_gb:>8.3g}"
        f" {1e3 * item.step_s:>9.4g} {item.mflups:>12,.0f} {item.efficiency:>7.1%}"
    )


def _inverse(cost: float) -> float:
    return 1.0 / cost if cost else float("inf")
