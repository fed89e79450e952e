"""Links into linkwise walls of one rank, bound to its device, and what crosses all links into labelled walls."""

import numpy as np

from muphy_lb.backends.arrays import WallArrays
from muphy_lb.boundaries.wall_balance import WallBalance
from muphy_lb.domain import AddressTable, flat_address
from muphy_lb.domain.addresses import LinkAddresses
from muphy_lb.domain.layout import WARP, whole
from muphy_lb.engine.probe import Probe
from muphy_lb.physics.model import Model


class WallLinks:
    """The links into walls of a rank bound to its device.

    Args:
        backend: the device.
        model: the physics.
        addresses: addresses of the links' populations.
        buffers: both population buffers; with in-place streaming the same one twice.
        coefficients: (3, S) coefficients of the links into linkwise walls.
        balance: what keeps the mass at interpolated walls; None where they need not.
    """

    def __init__(self, backend, model: Model, addresses: AddressTable, buffers, coefficients, balance):
        self._backend, self._model, self._addresses, self._buffers = backend, model, addresses, buffers
        self._links = addresses.domain.linkwise
        self._nodes = np.unique(self._links.node)
        self._row = whole(self._nodes.size, WARP)
        self._arrays = self._make_arrays(coefficients, balance)
        self._nothing = backend.zeros(0, np.uint32)
        even, odd = (self._probed(at) for at in (addresses.linkwise[0], addresses.linkwise[-1]))
        self._probe = Probe(backend, buffers, (even, odd))

    def bind(self, parity: int, values, keeps_mass: bool = True):
        """Launch that fills in what enters through the links, and what keeps the mass, which is added to populations
        of nodes and therefore only once a step.

        Args:
            parity: buffer of the step ahead.
            values: device array of the values of the walls.
            keeps_mass: whether to add the latter.
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
        if self._probe.size == 0:
            return np.zeros(0)
        leaving, entering = self._probe.read(parity).reshape(2, -1)
        return leaving + entering

    def _make_arrays(self, coefficients: np.ndarray, balance: WallBalance | None) -> WallArrays:
        q_count, padding = self._model.lattice.q, self._row - self._nodes.size
        index = np.uint32 if self._addresses.n_slots < 2**32 else np.uint64
        rest = np.pad(flat_address(0, self._nodes, q_count), (0, padding))
        entry = np.pad(self._addresses.entries(self._nodes), ((0, 0), (0, padding)))
        array = self._backend.array
        numbers = {"rest": array(rest.astype(index)), "entry": self._backend.array_of_rows(entry.astype(index))}
        factors = self._factors(coefficients, balance)
        masks = self._masks(coefficients, balance)
        return WallArrays(**numbers, **masks, **factors, value=None)

    def _factors(self, coefficients: np.ndarray, balance: WallBalance | None) -> dict:
        """Device arrays of numbers of links and of exchanges, by name."""
        links, real, array_of = self._links, self._backend.precision.real, self._backend.array_of_rows
        near, opposed, momentum = coefficients
        inflow = np.zeros(links.n_links) if balance is None else balance.inflow
        columns = {"near": self._rows(links, near), "opposed": self._rows(links, opposed)}
        columns |= {"momentum": self._rows(links, momentum), "passed": self._rows(links, inflow)}
        wall = self._rows(links, links.boundary)
        if balance is not None:
            for name, values in (("near", balance.share), ("passed", balance.added)):
                columns[name] += self._rows(balance, values)
            wall += self._rows(balance, balance.wall)
        if not (columns["momentum"].any() or columns["passed"].any()):
            columns["momentum"] = columns["passed"] = wall = np.zeros((0, 0))
        found = {name: array_of(values.astype(real)) for name, values in columns.items()}
        return found | {"wall": array_of(wall.astype(np.uint8))}

    def _masks(self, coefficients: np.ndarray, balance: WallBalance | None) -> dict:
        """Device arrays of the masks of links and exchanges, by name."""
        links, array, opposite = self._links, self._backend.array, self._model.lattice.opposite
        leads = self._rows(links, np.ones(links.n_links)) > 0
        wanted, passes = self._rows(links, coefficients[0]) != 0, np.zeros_like(leads)
        if balance is not None:
            passes = self._rows(balance, np.ones(balance.q.size)) > 0
            wanted |= passes[opposite[1:] - 1]
        exchanges = self._bits(passes) if balance is not None else np.zeros(0, np.uint32)
        masks = {"into_walls": self._bits(leads), "along_walls": exchanges, "wanted": self._bits(wanted)}
        return {name: array(mask) for name, mask in masks.items()}

    def _rows(self, records, values: np.ndarray) -> np.ndarray:
        """(Q - 1, M) values of records with a node and a direction each, 0 elsewhere."""
        rows = np.zeros((self._model.lattice.q - 1, self._row))
        rows[records.q - 1, self._column(records.node)] = values
        return rows

    def _column(self, node: np.ndarray) -> np.ndarray:
        return np.searchsorted(self._nodes, node)

    @staticmethod
    def _bits(rows: np.ndarray) -> np.ndarray:
        """(M,) masks with the bit of each direction that is set in (Q - 1, M) rows."""
        weights = np.uint32(1) << np.arange(1, 1 + len(rows), dtype=np.uint32)
        return (rows * weights[:, None]).sum(axis=0, dtype=np.uint32)

    def _probed(self, linkwise: LinkAddresses) -> np.ndarray:
        in_table = self._addresses.in_table
        return np.concatenate((linkwise.outgoing, in_table.outgoing, linkwise.incoming, in_table.incoming))
