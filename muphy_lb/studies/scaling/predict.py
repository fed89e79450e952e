"""What the measured points say of machines with many more cards: the model, its assumptions, and its numbers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from muphy_lb.studies.scaling.cuts import cut_of_point
from muphy_lb.studies.scaling.model import (
    BusiestLoad,
    Cut,
    Fit,
    Link,
    Machine,
    Observation,
    Surface,
    across,
    cube_surface,
    fit_machine,
    fit_surface,
    step_seconds,
)
from muphy_lb.studies.scaling.study import Point

CARDS = tuple(2**k for k in range(3, 13))
ROCK_NODES, ROCK_POROSITY = 10**11, 0.2
HEADER = f"{'cards':>6} {'nodes':>16} {'a card':>14} {'GB/card':>8} {'ms/step':>9} {'MFLUPS':>12} {'effic.':>7}"


@dataclass(frozen=True)
class Plans:
    """The machine to predict, which nobody measured here.

    Attributes:
        link: between nodes of the machine.
        cards_per_node: cards that reach each other as the measured ones do.
        card_gb: memory of a card [GB].
    """

    link: Link = Link(gb_s=25.0, latency_us=5.0)
    cards_per_node: int = 8
    card_gb: float = 141.0


@dataclass(frozen=True)
class Subject:
    """A flow to predict: ``n_nodes`` on one card, times the cards if ``grows``, with parts of a surface."""

    name: str
    n_nodes: float
    grows: bool
    surface: Surface


@dataclass(frozen=True)
class Prediction:
    """A flow on some cards.

    Attributes:
        efficiency: million node updates per second and card over those of a card alone that had room for the nodes.
        card_gb: memory that each card needs [GB]; ``fits``: whether it has that.
    """

    subject: str
    cards: int
    n_nodes: float
    step_s: float
    mflups: float
    efficiency: float
    card_gb: float
    fits: bool


@dataclass(frozen=True)
class Forecast:
    """The model of one series.

    Attributes:
        name: of the series.
        points: what was measured; ``fit`` is the machine fitted to them.
        surface: of the parts of the study's geometry; ``cuts`` are what it was found from.
        predictions: the numbers.
    """

    name: str
    points: tuple[Point, ...]
    fit: Fit
    surface: Surface | None
    cuts: tuple[Cut, ...]
    predictions: tuple[Prediction, ...]

    def record(self) -> dict:
        """Plain dictionary; the points are told by their numbers of ranks."""
        table = asdict(self) | {"residuals": self.fit.residuals, "machine": asdict(self.fit.machine)}
        del table["fit"]
        return table | {"points": [point.ranks for point in self.points]}


def forecast(name: str, points: Sequence[Point], n_nodes: int | None, cuts: Sequence[Cut], plans: Plans) -> Forecast:
    """Fit the model to the points of a series and ask it about many cards.

    Args:
        name: of the series.
        points: at least one, in order of their ranks.
        n_nodes: of the flow to predict; without it the nodes grow with the cards, as many a card as measured on most
            ranks.
        cuts: the geometry in many parts; without one the measured ranks tell, of whose parts few have neighbours all
            around.
        plans: the machine.
    """
    last = points[-1]
    cuts = tuple(cuts) or tuple(cut_of_point(point) for point in points if point.ranks > 1)
    fit, surface = fit_machine([observation(point) for point in points]), fit_surface(cuts, not last.is_periodic)
    grows = n_nodes is None
    n_nodes = last.nodes_per_rank if grows else n_nodes
    rock = cube_surface(last.crossing, ROCK_POROSITY, surface.imbalance if surface else 1.0)
    subjects = [Subject("the case", n_nodes, grows, surface)] if surface else []
    subjects.append(Subject("rock", ROCK_NODES, False, rock))
    predictions = [predict(subject, cards, last, fit.machine, plans) for subject in subjects for cards in CARDS]
    return Forecast(name, tuple(points), fit, surface, cuts, tuple(predictions))


def observation(point: Point) -> Observation:
    """A point as the model sees it."""
    exchanges = ((point.short_bytes, point.short_exchange_s), (point.most_halo_bytes, point.exchange_s))
    return Observation(load_of(point), point.step_s, tuple(pair for pair in exchanges if pair[1] > 0.0))


def load_of(point: Point) -> BusiestLoad:
    """The load of the busiest rank of a point; each number is the largest of any rank."""
    if point.ranks == 1:
        return BusiestLoad(point.most_nodes)
    return BusiestLoad(point.most_nodes, point.most_edge_nodes, point.most_halo_bytes, point.most_neighbours)


def predict(subject: Subject, cards: int, like: Point, machine: Machine, plans: Plans) -> Prediction:
    """One flow on some cards, each of them as busy as the busiest.

    Args:
        subject: the flow.
        cards: number of cards.
        like: a point whose bytes a node and a population count.
        machine: as fitted.
        plans: what lies beyond the measured machine.
    """
    n_nodes = subject.n_nodes * (cards if subject.grows else 1)
    is_inside = cards <= plans.cards_per_node
    machine = machine if is_inside else across(machine, plans.link)
    load = subject.surface.load(n_nodes, cards, like.storage_bytes)
    seconds, alone = step_seconds(machine, load), step_seconds(machine, BusiestLoad(n_nodes))
    card_gb = 1e-9 * load.nodes * like.bytes_per_node
    return Prediction(
        subject=subject.name,
        cards=cards,
        n_nodes=n_nodes,
        step_s=seconds,
        mflups=1e-6 * n_nodes / seconds,
        efficiency=alone / seconds / cards,
        card_gb=card_gb,
        fits=card_gb <= plans.card_gb,
    )


def text(forecasts: Sequence[Forecast], plans: Plans) -> str:
    """The models of all series in words and numbers, and what they rest on."""
    return "\n".join([*(_forecast_text(item, plans) for item in forecasts), *_assumptions(forecasts[0], plans)])


def _forecast_text(forecast: Forecast, plans: Plans) -> str:
    ranks = ", ".join(str(point.ranks) for point in forecast.points)
    lines = [f"model of {forecast.name}, fitted to what was measured on {ranks} ranks", *_machine_lines(forecast.fit)]
    for subject in dict.fromkeys(item.subject for item in forecast.predictions):
        chosen = [item for item in forecast.predictions if item.subject == subject]
        too_large = [str(item.cards) for item in chosen if not item.fits]
        lines += [_subject_text(subject, chosen), HEADER, *(_row(item) for item in chosen if item.fits)]
        if too_large:
            lines.append(f"  on {', '.join(too_large)} cards it does not fit into {plans.card_gb:g} GB a card")
    if not forecast.surface:
        lines.append("the case itself is not predicted: nothing tells what its parts exchange; measure two ranks")
    return "\n".join(lines)


def _machine_lines(fit: Fit) -> list[str]:
    m, worst = fit.machine, max(map(abs, fit.residuals))
    together = "beside the interior" if m.overlaps else "after the interior"
    errors = " ".join(f"{residual:+.1%}" for residual in fit.residuals)
    return [
        f"  a card: {1e-6 * _inverse(m.s_per_node):,.5g} million nodes/s; a shared step {1e6 * m.s_besides:.3g} us"
        " besides",
        f"  halo: {together}; an exchange {1e6 * m.s_per_exchange:.3g} us and {1e-9 * _inverse(m.s_per_byte):.4g} GB/s,"
        " packing and unpacking included",
        f"  predicted step time against measured, by ranks: {errors} (at most {worst:.1%})",
    ]


def _assumptions(forecast: Forecast, plans: Plans) -> list[str]:
    """What the numbers rest on."""
    link = plans.link
    return [
        "assumed:",
        *(_surface_lines(forecast.surface, forecast.cuts) if forecast.surface else []),
        f"  a rock is cut into cubes, {ROCK_POROSITY:.0%} of each face open, 26 neighbours",
        f"  up to {plans.cards_per_node} cards reach each other as measured; beyond, every message takes a link of"
        f" {link.gb_s:g} GB/s a card and {link.latency_us:g} us more, unless the measured bandwidth is smaller",
        "  no contention in the network; a card is as fast with any number of nodes, and none is slower than others",
    ]


def _surface_lines(surface: Surface, cuts: Sequence[Cut]) -> list[str]:
    parts = ", ".join(str(cut.n_parts) for cut in cuts)
    lines = [
        f"  {surface.populations:.3g} m^(2/3) populations cross the surface of a part of m nodes of the case,"
        f" {surface.neighbours:.3g} parts are around it, the largest has {surface.imbalance:.3f} of the mean",
        f"  (found by cutting the geometry into {parts} parts by {cuts[0].method})",
    ]
    if surface.is_bounded:
        lines.append("  at the rim parts have fewer neighbours: of p parts 1 - p^(-1/3) of all surface is shared")
    elif cuts[-1].n_parts < CARDS[0]:
        lines.append(
            "  so few parts have neighbours on some sides only: with more of them the halo is up to three times that"
        )
    return lines


def _subject_text(subject: str, chosen: Sequence[Prediction]) -> str:
    first, last = chosen[0], chosen[-1]
    nodes = f"{first.n_nodes:,.0f} nodes in all"
    if last.n_nodes > first.n_nodes:
        nodes = f"{first.n_nodes / first.cards:,.0f} nodes a card"
    return f"{subject}, {nodes}; efficiency against one card alone that had room for them"


def _row(item: Prediction) -> str:
    return (
        f"{item.cards:>6} {item.n_nodes:>16,.0f} {item.n_nodes / item.cards:>14,.0f} {item.card_gb:>8.3g}"
        f" {1e3 * item.step_s:>9.4g} {item.mflups:>12,.0f} {item.efficiency:>7.1%}"
    )


def _inverse(cost: float) -> float:
    return 1.0 / cost if cost else float("inf")
