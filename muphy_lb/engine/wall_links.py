"""Links into linkwise walls of one rank, bound to its device, and what crosses all links into labelled walls."""

from collections.abc import Callable

import numpy as np

from muphy_lb.backends.arrays import WallArrays
from muphy_lb.boundaries.wall_balance import WallBalance
from muphy_lb.domain import AddressTable, flat_address
from muphy_lb.domain.addresses import LinkAddresses
from muphy_lb.engine.probe import Probe
from muphy_lb.lattice.layout import WARP, whole
from muphy_lb.model.model import Model


class WallLinks:
    """The links into walls of a rank bound to its device.

    Args:
        backend: the device.
        model: the physics.
        addresses: addresses of the links' populations.
        buffers: both population buffers; with in-place streaming the same one twice.
        coefficients: (3, S) coefficients of the links into linkwise walls.
        balance: what keeps the mass at interpolated walls; None where nothing has to.
    """

    def __init__(self, backend, model: Model, addresses: AddressTable, buffers, coefficients, balance):
        self._backend, self._model, self._addresses, self._buffers = backend, model, addresses, buffers
        self._links = addresses.domain.linkwise
        self._nodes = np.unique(self._links.node)
        self._n_padded = whole(self._nodes.size, WARP)
        self._arrays = self._make_arrays(coefficients, balance)
        self._nothing = backend.zeros(0, np.uint32)
        even, odd = (self._probed(at) for at in (addresses.linkwise[0], addresses.linkwise[-1]))
        self._probe = Probe(backend, buffers, (even, odd))

    def bind(self, parity: int, values, keeps_mass: bool = True):
        """Launch that fills in what enters through the links, and adds to populations at rest what keeps the mass; the
        latter must happen once a step.

        Args:
            parity: buffer of the step ahead.
            values: device array of the values of the walls.
            keeps_mass: whether to change populations at rest; otherwise the launch may be repeated.
        """
        model, arrays = self._model, self._arrays._replace(value=values)
        if not keeps_mass:
            arrays = arrays._replace(along_walls=self._nothing)
        buffer = self._buffers[model.streaming.completed_buffer(parity)]
        crossing = model.streaming.crossing(model.lattice, parity % len(self._addresses.patterns))
        return self._backend.bind("walls", model.walls, buffer, arrays, crossing)

    def exchange(self, parity: int) -> np.ndarray:
        """(S + F,) population that leaves plus the one that enters of every link into linkwise walls and into other
        labelled walls; slots must be filled."""
        return self._of_halves(self._probe.read(parity)) if self._probe.size else np.zeros(0)

    def kept_exchange(self, parity: int) -> Callable[[], np.ndarray]:
        """The same as a function that copies it to the host; until the next call it stays on the device."""
        if self._probe.size == 0:
            return lambda: np.zeros(0)
        kept = self._probe.keep(parity)
        return lambda: self._of_halves(kept().astype(np.float64) / self._probe.unit)

    @staticmethod
    def _of_halves(numbers: np.ndarray) -> np.ndarray:
        leaving, entering = numbers.reshape(2, -1)
        return leaving + entering

    def _make_arrays(self, coefficients: np.ndarray, balance: WallBalance | None) -> WallArrays:
        q_count, padding = self._model.lattice.q, self._n_padded - self._nodes.size
        index = np.uint32 if self._addresses.n_slots < 2**32 else np.uint64
        rest = np.pad(flat_address(0, self._nodes, q_count), (0, padding))
        entry = np.pad(self._addresses.entries(self._nodes), ((0, 0), (0, padding)))
        array = self._backend.array
        where = {"rest": array(rest.astype(index)), "entry": self._backend.array_of_rows(entry.astype(index))}
        numbers = self._numbers(coefficients, balance)
        masks = self._masks(coefficients, balance)
        return WallArrays(**where, **masks, **numbers, value=None)

    def _numbers(self, coefficients: np.ndarray, balance: WallBalance | None) -> dict:
        """Device arrays of the numbers of links into walls and of exchanges, which are never in the same direction of
        a node, by name."""
        links, real, array_of = self._links, self._backend.precision.real, self._backend.array_of_rows
        inflow = np.zeros(links.n_links) if balance is None else balance.inflow
        of_links = {**dict(zip("bcd", coefficients, strict=True)), "inflow": inflow}
        rows = {name: self._rows(links, values) for name, values in of_links.items()}
        wall = self._rows(links, links.boundary)
        if balance is not None:
            rows["b"] += self._rows(balance, balance.share)
            rows["inflow"] += self._rows(balance, balance.inflow_along)
            wall += self._rows(balance, balance.wall)
        if not (rows["d"].any() or rows["inflow"].any()):
            rows["d"] = rows["inflow"] = wall = np.zeros((0, 0))
        numbers = {name: array_of(values.astype(real)) for name, values in rows.items()}
        return numbers | {"wall": array_of(wall.astype(np.uint8))}

    def _masks(self, coefficients: np.ndarray, balance: WallBalance | None) -> dict:
        """Device arrays of the masks of links and exchanges, by name."""
        links, array, opposite = self._links, self._backend.array, self._model.lattice.opposite
        into_walls = self._rows(links, np.ones(links.n_links)) > 0
        needed, exchanges = self._rows(links, coefficients[0]) != 0, np.zeros(0, np.uint32)
        if balance is not None:
            along_walls = self._rows(balance, np.ones(balance.q.size)) > 0
            needed |= along_walls[opposite[1:] - 1]
            exchanges = self._bits(along_walls)
        masks = {"into_walls": self._bits(into_walls), "along_walls": exchanges, "needed": self._bits(needed)}
        return {name: array(mask) for name, mask in masks.items()}

    def _rows(self, records, values: np.ndarray) -> np.ndarray:
        """(Q - 1, M) values of records with a node and a direction each, 0 elsewhere and for padding."""
        rows = np.zeros((self._model.lattice.q - 1, self._n_padded))
        rows[records.q - 1, self._column(records.node)] = values
        return rows

    def _column(self, node: np.ndarray) -> np.ndarray:
        return np.searchsorted(self._nodes, node)

    @staticmethod
    def _bits(rows: np.ndarray) -> np.ndarray:
        """(M,) masks: bit q is set where the row of direction q is, of (Q - 1, M) rows."""
        weights = np.uint32(1) << np.arange(1, 1 + len(rows), dtype=np.uint32)
        return (rows * weights[:, None]).sum(axis=0, dtype=np.uint32)

    def _probed(self, linkwise: LinkAddresses) -> np.ndarray:
        in_table = self._addresses.in_table
        return np.concatenate((linkwise.outgoing, in_table.outgoing, linkwise.incoming, in_table.incoming))
