"""NodeProbe: populations and fields of a few nodes of all ranks, gathered on rank 0 in voxel order."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np

from muphy_lb.engine.engine import Engine
from muphy_lb.engine.transfers import NodeMoments, NodeValues, Probe, Remembered
from muphy_lb.measure.records import NodeState

Compute = Callable[[Sequence[np.ndarray], float, np.ndarray, np.ndarray | float], np.ndarray]


class NodeProbe:
    """Reads selected nodes of all ranks; every call is collective.

    Args:
        engine: the flow on this rank, as it is now; asked for from the first reading on.
        voxel: (m,) ascending voxel ids of fluid nodes, on rank 0.
        fields: names of the model's fields to read, too.
    """

    def __init__(
        self, engine: Callable[[], Engine], communicator, voxel: np.ndarray | None, fields: Sequence[str] = ()
    ):
        self._bind = partial(_BoundProbe, communicator=communicator, voxel=communicator.broadcast(voxel), fields=fields)
        self._engine = engine
        self._bound: _BoundProbe | None = None

    def release(self) -> None:
        """The engine goes; its successor is read from the next call on."""
        self._bound = None

    def stored(self) -> NodeState | None:
        """The stored state: populations before the collision for push, after it for the others."""
        return self._present().stored()

    def fields(self) -> dict[str, np.ndarray] | None:
        """The same without populations and forces: (m,) values of the fields as they are stored, by name."""
        return self._present().field_values()

    def moments(self) -> np.ndarray | None:
        """(4, m) rows rho - 1, ux, uy, uz, lattice units."""
        return self._present().moments()

    def remember(self) -> None:
        """Keep the populations that arrive in the step ahead, for the mean in the state behind it."""
        self._present().remember()

    def arriving(self, compute: Compute) -> np.ndarray | None:
        """Moments of the populations that arrive at the nodes, by ascending voxel id.

        They are those that the step ahead brings or, where :meth:`remember` was called one step ago, the mean of those
        and of the ones that the last step has brought: moving walls may leave an oscillation of period two.

        Args:
            compute: ``compute(populations, unit, force, stress_share)`` -> (r, k) numbers at the k nodes of a rank, of
                each of which they are computed alone, from a list of (Q k,) stored populations, their unit, the (3, k)
                mean body force, lattice units, and (k,) or 1 the stress over that which the flow's collision would
                have. Only these numbers travel to rank 0.
        """
        return self._present().arriving(compute)

    def _present(self) -> "_BoundProbe":
        if self._bound is None:
            self._bound = self._bind(self._engine())
        return self._bound


class _BoundProbe:
    """The same of one engine, with the voxels on every rank."""

    def __init__(self, engine: Engine, communicator, voxel: np.ndarray, fields: Sequence[str]):
        self._engine, self._communicator = engine, communicator
        domain = engine.domain
        self._nodes = np.flatnonzero(_are_among(domain.voxel, voxel))
        gathered = communicator.gather(domain.voxel[self._nodes])
        self._order = None if gathered is None else np.argsort(np.concatenate(gathered))
        self._values, self._moments = NodeValues(engine, self._nodes), NodeMoments(engine, self._nodes)
        self._remembered = Remembered[tuple[Callable[[], np.ndarray], np.ndarray]]()
        self._fields = tuple(fields)

    @cached_property
    def _before(self) -> Probe:
        """Populations that arrive in the step ahead."""
        return self._engine.probe_of_arriving(self._nodes)

    @cached_property
    def _stored(self) -> Probe:
        """Populations that the last step has stored."""
        engine, addresses = self._engine, self._engine.addresses
        found = [
            addresses.resolve(phase - 1, addresses.locations_after(phase - 1), self._nodes).ravel()
            for phase in range(len(addresses.patterns))
        ]
        return Probe(engine.backend, engine.buffers, (found[0], found[-1]))

    def stored(self) -> NodeState | None:
        engine = self._engine
        engine.backend.synchronise()
        collided_from = engine.model.streaming.parity_of_collision(engine.parity)
        q_count = engine.model.lattice.q
        populations = np.zeros((q_count, 0))
        if self._nodes.size:
            populations = self._stored.read(engine.parity).reshape(q_count, -1)
        fields = [self._values.field(name, engine.parity) for name in self._fields]
        share, beside = self._values.filling(engine.parity)
        found = self._in_voxel_order(populations, self._values.force(collided_from), share, beside, *fields)
        if found is None:
            return None
        return NodeState(found[0], found[1], found[2], found[3], dict(zip(self._fields, found[4:], strict=True)))

    def field_values(self) -> dict[str, np.ndarray] | None:
        self._engine.backend.synchronise()
        fields = [self._values.field(name, self._engine.parity) for name in self._fields]
        found = self._in_voxel_order(*fields)
        return None if found is None else dict(zip(self._fields, found, strict=True))

    def moments(self) -> np.ndarray | None:
        found = self._in_voxel_order(self._moments.read())
        return None if found is None else found[0]

    def remember(self) -> None:
        with self._engine.looking_ahead() as buffer:
            kept = self._before.keep(buffer)
        self._remembered.keep(self._engine, (kept, self._values.force_numbers(self._engine.parity)))

    def arriving(self, compute: Compute) -> np.ndarray | None:
        behind, shape = self._remembered.of_last_step(self._engine), (3, self._nodes.size)
        with self._engine.looking_ahead() as buffer:
            populations = [*(kept() for kept, _ in behind), self._before.stored(buffer)]
        forces = [*(np.broadcast_to(force, shape) for _, force in behind), self._values.force(self._engine.parity)]
        own = np.mean(forces, axis=0), self._values.stress_share(self._engine.parity)
        found = self._in_voxel_order(compute(populations, self._before.unit, *own))
        return None if found is None else found[0]

    def _in_voxel_order(self, *columns: np.ndarray) -> list[np.ndarray] | None:
        """On rank 0, (..., k) values at the nodes of each rank as (..., m) values of all of them."""
        gathered = self._communicator.gather(columns)
        if gathered is None:
            return None
        return [np.concatenate(parts, axis=-1)[..., self._order] for parts in zip(*gathered, strict=True)]


def _are_among(voxel: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(n,) mask of the voxels (n,) that are among ascending ones."""
    if not wanted.size:
        return np.zeros(voxel.size, dtype=bool)
    return wanted[np.minimum(np.searchsorted(wanted, voxel), wanted.size - 1)] == voxel
