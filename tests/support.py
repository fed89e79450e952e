"""Builders for tests of the solver's inside: random geometries, engines, and ranks that share one process."""

import threading
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from muphy_lb.backends import make_backend
from muphy_lb.base.precision import FP64, Precision
from muphy_lb.boundaries.opening_geometry import (
    Condition,
    link_weights,
    oblique_weights,
    opening_frames,
    pulsatile_weights,
    unscaled_flow,
)
from muphy_lb.boundaries.profiles import PulsatileProfile, harmonics, parabolic, plug
from muphy_lb.boundaries.wall_balance import wall_balance
from muphy_lb.boundaries.wall_motion import HALF_WAY, WallMotion, linkwise_coefficients, treat_walls
from muphy_lb.boundaries.waveform import FourierSeries
from muphy_lb.domain import LocalDomain, build_local_domain, streaming_named
from muphy_lb.domain.local import LEXICOGRAPHIC
from muphy_lb.engine.boundary_links import LinkConditions
from muphy_lb.engine.engine import Engine
from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.voxels import FIRST_OPENING, FLAG_DTYPE, FLUID, SOLID, Opening, Voxels
from muphy_lb.lattice import Lattice
from muphy_lb.model.flow import Flow
from muphy_lb.model.isothermal import Fluid, isothermal
from muphy_lb.model.model import Model
from muphy_lb.operators import (
    BGK,
    COMPRESSIBLE,
    CONSTANT,
    PRESSURE,
    UNIFORM,
    VELOCITY,
    Closure,
    Equilibrium,
    Relaxation,
)
from muphy_lb.operators.forces import COMPONENTS
from muphy_lb.operators.relaxation import OMEGA
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.parallel.choice import HaloConnector

SPEED_SCALE = 2.0**40
PATIENCE_S = 300.0
IN, OUT = Opening("in", "inlet", (0, 0, 0), (1, 0, 0)), Opening("out", "outlet", (0, 0, 0), (-1, 0, 0))
THROUGH_FLOW = (Condition(VELOCITY, 0.02, parabolic), Condition(PRESSURE, 0.001))
BEAT = harmonics(FourierSeries(17.0, 1.0, (0.4, 0.2), (-0.3,)))


def slanted(frame, midpoint: np.ndarray) -> np.ndarray:
    """A complex shape that grows across an opening."""
    return 1.0 + (0.3 + 0.2j) * (midpoint - frame.centroid).sum(axis=1)


# Both openings have a profile that changes its shape.
PULSATING = (
    Condition(VELOCITY, 0.02, pulsatile=PulsatileProfile(plug, (slanted, slanted), BEAT.columns)),
    Condition(VELOCITY, -0.018, pulsatile=PulsatileProfile(plug, (slanted, plug), BEAT.columns)),
)
CLOSED_OPENINGS = (Condition(VELOCITY, 0.0), Condition(VELOCITY, 0.0))


@dataclass(frozen=True)
class Setup:
    """What an engine computes and on what."""

    lattice: Lattice
    backend: str = "numpy"
    precision: Precision = FP64
    streaming: str = "pull"
    rates: tuple[float, ...] = (1.25,)
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    conditions: tuple[Condition, ...] = ()
    relaxation: Relaxation = BGK
    equilibrium: Equilibrium = COMPRESSIBLE
    closure: Closure = CONSTANT
    wall_rule: str = HALF_WAY
    motions: tuple[WallMotion, ...] = ()
    order: str = LEXICOGRAPHIC

    def motions_of(self, nodes: NodeList) -> tuple[WallMotion, ...]:
        """What each labelled wall does; without being told it rests."""
        return self.motions or (WallMotion(),) * len(nodes.walls)

    def model(self) -> Model:
        """Isothermal flow."""
        fluid = Fluid(self.rates, self.relaxation, self.equilibrium, self.closure)
        return isothermal(self.lattice, fluid, self.streaming, self.force)

    def model_of(self, domain: LocalDomain, nodes: NodeList) -> Model:
        """The model of a rank, of the nodes of all."""
        return self.model()


def box_shape(lattice: Lattice) -> tuple[int, int, int]:
    """A small box (nz, ny, nx) with unequal edges in which a lattice can live."""
    return (6, 7, 8) if lattice.dimension == 3 else (1, 13, 17)


def random_voxels(shape, seed=0, fluid=0.8, periodic=(False, False, False)) -> Voxels:
    """A box in which every voxel is fluid with probability ``fluid``, and at least one is."""
    flags = np.where(np.random.default_rng(seed).random(shape) < fluid, FLUID, SOLID).astype(FLAG_DTYPE)
    flags[0, 0, 0] = FLUID
    return Voxels(flags, periodic=periodic)


def with_openings(voxels: Voxels) -> Voxels:
    """The same box with the fluid of its first and last layer across x turned into an inlet and an outlet."""
    flags = voxels.flags.copy()
    for face, number in ((0, 0), (-1, 1)):
        layer = flags[:, :, face]
        layer[layer == FLUID] = FIRST_OPENING + number
    return Voxels(flags, periodic=voxels.periodic, openings=(IN, OUT))


def random_nodes(lattice: Lattice, seed=0, openings=True, periodic=(False, True, False)) -> NodeList:
    """Nodes of a random box for a lattice: a fifth of it walls, and two openings unless told otherwise."""
    voxels = random_voxels(box_shape(lattice), seed, periodic=periodic)
    return build_nodes(with_openings(voxels) if openings else voxels)


def random_owner(nodes: NodeList, n_ranks: int, seed=0) -> np.ndarray:
    """(n,) owners: every node goes to a random rank, and every rank gets one."""
    owner = np.random.default_rng(seed).integers(n_ranks, size=nodes.n_nodes)
    owner[:n_ranks] = np.arange(n_ranks)
    return owner


def random_populations(lattice: Lattice, n: int, seed=0, real=np.float64) -> np.ndarray:
    """(Q, n) deviations from w_q of a fluid that is neither at rest nor in equilibrium."""
    noise = np.random.default_rng(seed).uniform(-0.1, 0.1, (lattice.q, n))
    return (lattice.w[:, None] * noise).astype(real)


def distinguishable_populations(lattice: Lattice, n: int) -> np.ndarray:
    """(Q, n) different whole numbers, exact in single precision."""
    return np.arange(1.0, 1.0 + lattice.q * n).reshape(lattice.q, n)


def plain_flow(lattice: Lattice, fluid: Fluid, streaming: str, force=(0.0, 0.0, 0.0), operator=UNIFORM) -> Flow:
    """A flow without further physics; ``force`` holds the three components in the form that the operator reads."""
    return Flow(lattice, fluid, streaming, operator, dict(zip(COMPONENTS, force, strict=True)))


def build_engine(nodes, setup: Setup, owner=None, rank=0, communicator=None, keeps_mass=True) -> Engine:
    """Engine of one rank, isothermal BGK, with no population set; ``keeps_mass``: with the balance of its walls."""
    owner = np.zeros(nodes.n_nodes, dtype=np.int64) if owner is None else owner
    in_place = streaming_named(setup.streaming).in_place
    treatment = treat_walls(setup.wall_rule, setup.motions_of(nodes), in_place)
    domain = build_local_domain(nodes, owner, rank, setup.lattice, treatment, setup.order)
    return engine_on(domain, nodes, setup, communicator, keeps_mass)


def engine_on(domain: LocalDomain, nodes, setup: Setup, communicator=None, keeps_mass=True) -> Engine:
    """Engine on a domain that is already there."""
    lattice, motions, communicator = setup.lattice, setup.motions_of(nodes), communicator or SerialCommunicator()
    frames = opening_frames(nodes, lattice)
    unscaled = unscaled_flow(nodes, lattice, frames, setup.conditions)
    momentum = link_weights(nodes, lattice, domain.links, frames, setup.conditions, unscaled)
    model = setup.model_of(domain, nodes)
    oblique = oblique_weights(nodes, lattice, domain.links, (frames, setup.conditions), model.parameters[OMEGA])
    conditions = LinkConditions(
        momentum=momentum + oblique[0],
        kind=np.array([condition.kind for condition in setup.conditions]),
        walls=linkwise_coefficients(nodes, domain, setup.wall_rule, motions)[0],
        value=np.append([condition.value for condition in setup.conditions], np.ones(len(motions) + 1)),
        feedback={k: condition.feedback for k, condition in enumerate(setup.conditions) if condition.feedback},
        balance=wall_balance(domain, setup.wall_rule, motions, communicator) if keeps_mass else None,
        profiles=pulsatile_weights(nodes, lattice, domain.links, (frames, setup.conditions), momentum),
        along=np.array([frame.along for frame in frames]).reshape(-1, 3),
        inside=oblique[1],
    )
    backend = make_backend(setup.backend, lattice, setup.precision)
    return Engine(backend, HaloConnector(communicator), domain, model, conditions, SPEED_SCALE)


def start_at_rest(engine: Engine) -> Engine:
    """The engine, with density 1 and velocity 0 everywhere."""
    engine.start_from(np.ones(1), np.zeros((3, 1)))
    return engine


def advance(engine: Engine, n_steps: int) -> Engine:
    """The engine, ``n_steps`` later."""
    for _ in range(n_steps):
        engine.step()
    return engine


def in_node_order(engine: Engine, values: np.ndarray) -> np.ndarray:
    """Values (..., n) of a single engine's nodes, from run order into node-list order."""
    ordered = np.empty_like(values)
    ordered[..., engine.domain.number] = values
    return ordered


class Mailbox:
    """Messages between ranks of one process. Holding its lock is having the turn: one rank computes at a time."""

    def __init__(self):
        self.turn = threading.Condition()
        self.messages = defaultdict(deque)


class LocalMessages:
    """Messages of a rank among several of one process."""

    def __init__(self, communicator, incoming, outgoing):
        self._communicator, self._incoming, self._outgoing = communicator, incoming, outgoing

    def start_receiving(self):
        """They come by themselves."""
        self._number_come = 0

    def start_sending(self, number):
        """Post a copy."""
        array, rank, _ = self._outgoing[number]
        self._communicator.start_send(array, rank)

    def arrivals(self):
        """One after the other."""
        while self._number_come < len(self._incoming):
            array, rank, _ = self._incoming[self._number_come]
            self._communicator.wait_all([(array, rank)])
            self._number_come += 1
            yield self._number_come - 1

    def complete(self):
        """What goes out has been posted."""
        for _ in self.arrivals():
            pass


class LocalCommunicator(SerialCommunicator):
    """A rank among several of one process, as far as the halo exchange needs it."""

    def __init__(self, rank: int, size: int, mailbox: Mailbox):
        self.rank, self.size, self._mailbox = rank, size, mailbox

    def start_send(self, array, rank):
        """Post a copy; there is nothing to wait for."""
        self._mailbox.messages[self.rank, rank].append(array.copy())
        self._mailbox.turn.notify_all()

    def start_receive(self, array, rank):
        """Where the message belongs, and whose it is."""
        return array, rank

    def wait_all(self, requests):
        """Give the turn away until every message has come."""
        for array, rank in filter(None, requests):
            message = self._next_from(rank)
            if message.size != array.size:
                raise ValueError(f"rank {rank} sent {message.size} populations, rank {self.rank} expects {array.size}")
            array[...] = message

    def kept_messages(self, incoming, outgoing):
        """Messages that are sent again and again."""
        return LocalMessages(self, incoming, outgoing)

    def swap(self, messages):
        """Send an object to each of some ranks, and receive one from each of them."""
        for rank, message in messages.items():
            self._mailbox.messages[self.rank, rank].append(message)
        self._mailbox.turn.notify_all()
        return {rank: self._next_from(rank) for rank in messages}

    def total(self, value):
        """Sum over all ranks, in their order."""
        others = self.swap({rank: value for rank in range(self.size) if rank != self.rank})
        first, *values = (others.get(rank, value) for rank in range(self.size))
        return sum(values, first)

    def _next_from(self, rank):
        """The next message of a rank, for which the turn is given away."""
        letters = self._mailbox.messages[rank, self.rank]
        if not self._mailbox.turn.wait_for(lambda: letters, PATIENCE_S):
            raise TimeoutError(f"rank {self.rank} waits for rank {rank} in vain")
        return letters.popleft()


class Ranks:
    """All ranks of a run in one process, each an engine with its own domain.

    Args:
        nodes: the geometry.
        setup: what they compute.
        owner: (n,) rank of every node.
    """

    def __init__(self, nodes: NodeList, setup: Setup, owner: np.ndarray):
        self._mailbox, size = Mailbox(), int(owner.max()) + 1

        def build(rank):
            return build_engine(nodes, setup, owner, rank, LocalCommunicator(rank, size, self._mailbox))

        self.engines = self._together(build, range(size))

    def set_populations(self, populations: np.ndarray) -> None:
        """Hand (Q, n) populations in node-list order to their owners."""
        for engine in self.engines:
            engine.set_populations(populations[:, engine.domain.number])

    def step(self, n_steps: int) -> None:
        """Advance all ranks together."""
        self.each(lambda engine: advance(engine, n_steps))

    def each(self, work) -> list:
        """What ``work(engine)``, which may exchange messages, returns on each rank."""
        return self._together(work, self.engines)

    def populations(self) -> np.ndarray:
        """(Q, n) populations in node-list order."""
        pieces = [engine.populations() for engine in self.engines]
        result = np.empty((pieces[0].shape[0], sum(piece.shape[1] for piece in pieces)), pieces[0].dtype)
        for engine, piece in zip(self.engines, pieces, strict=True):
            result[:, engine.domain.number] = piece
        return result

    def particles(self, name: str) -> dict[str, np.ndarray]:
        """Columns of the particles of a set on all ranks, by id."""
        found = [engine.particles.get(name) for engine in self.engines]
        columns = {column: np.concatenate([each[column] for each in found]) for column in found[0]}
        order = np.argsort(columns["id"])
        return {name: column[order] for name, column in columns.items()}

    def _together(self, work, ranks) -> list:
        """What ``work`` returns of each of some things, one of every rank."""
        with ThreadPoolExecutor(len(ranks)) as pool:
            return list(pool.map(lambda rank: self._in_turn(work, rank), ranks))

    def _in_turn(self, work, rank):
        with self._mailbox.turn:
            return work(rank)


def momentum(engine: Engine) -> np.ndarray:
    """(3,) momentum of the stored populations."""
    return engine.domain.lattice.c.T @ engine.populations().sum(axis=1)


def pulsating_rows(n_steps: int) -> np.ndarray:
    """Rows of the schedule of ``PULSATING``: the values of openings and plain walls, the amplitudes, no force."""
    columns = BEAT.columns(np.arange(1.0, 1.0 + n_steps))
    values = np.broadcast_to([*(condition.value for condition in PULSATING), 1.0], (n_steps, 3))
    return np.hstack((values, columns, columns, np.zeros((n_steps, 3))))
