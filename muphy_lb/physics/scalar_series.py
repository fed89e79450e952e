"""Fluxes of a carried scalar through the outlets, and its mean over the fluid: ``NAME.csv``."""

from pathlib import Path
from typing import Protocol

import numpy as np

from muphy_lb.domain import FIXED, OUTFLOW, LocalDomain, ScalarBoundary
from muphy_lb.geometry.neighbours import FIRST_OPENING_LINK
from muphy_lb.lattice import Lattice
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView


class Measured(Protocol):
    """A scalar as it is measured; :class:`muphy_lb.physics.scalar.CarriedScalar` describes the attributes."""

    @property
    def name(self) -> str:
        """Of its field."""

    @property
    def column(self) -> str:
        """Of its columns."""

    @property
    def rows(self) -> list[str]:
        """Fields of its populations."""

    @property
    def carrier_rows(self) -> list[str]:
        """Fields of the populations of its carrier."""

    @property
    def lattice(self) -> Lattice:
        """Of its populations."""

    @property
    def boundary(self) -> ScalarBoundary:
        """Its conditions."""

    @property
    def in_si(self) -> float:
        """Its value of 1 in SI units."""


class OutletFluxes:
    """Measures how much of a scalar leaves through each outlet, and how much there is; every call is collective.

    Args:
        view: the flow.
        scalar: the scalar.
        carrier: the conditions of its carrier, by whose flux that of the scalar is weighted, so that the mean of a
            uniform one is its value; None: by the flow, so that what is produced is balanced.

    Attributes:
        scalar: as given.
        names: names of the outlets.
    """

    def __init__(self, view: FlowView, scalar: Measured, carrier: ScalarBoundary | None = None):
        self._view, self.scalar, self._carrier = view, scalar, carrier
        self._outlets = [number for number, each in enumerate(view.header.openings) if each.kind == "outlet"]
        self.names = [view.header.openings[number].name for number in self._outlets]
        self._surveyed: LocalDomain | None = None
        self._found: list[tuple[np.ndarray, np.ndarray]] = []

    @property
    def columns(self) -> list[str]:
        """Names of the means of outlets, and of that of all fluid."""
        return [*(f"{name}_mean_{self.scalar.column}" for name in self.names), f"volume_mean_{self.scalar.column}"]

    def numbers(self) -> np.ndarray | None:
        """(2 n_outlets + 1,) lattice units: scalar that leaves through each outlet in a step, fluid that does, and the
        mean of all fluid, on rank 0."""
        view, scalar = self._view, self.scalar
        leaving, values = self.leaving(), view.model_field(scalar.name)
        flows = self._flows() if self._carrier is None else self._leaving(scalar.carrier_rows, self._carrier)
        if leaving is None or values is None or flows is None:
            return None
        return np.array([*leaving, *flows, values.mean(dtype=np.float64)])

    def means_si(self, numbers: np.ndarray) -> list[float]:
        """Mean of what leaves through each outlet, weighted by the flow, and that of all fluid, in SI units, from
        :meth:`numbers` or means of them; NaN for an outlet through which nothing leaves."""
        leaving, flows = numbers[:-1].reshape(2, -1)
        means = [flux / flow if flow > 0.0 else np.nan for flux, flow in zip(leaving, flows, strict=True)]
        return [float(x) * self.scalar.in_si for x in (*means, numbers[-1])]

    def leaving(self) -> np.ndarray | None:
        """(n_outlets,) scalar that leaves through each outlet in a step [lattice units], on rank 0."""
        return self._leaving(self.scalar.rows, self.scalar.boundary)

    def _flows(self) -> np.ndarray | None:
        """(n_outlets,) fluid that leaves through each outlet in a step [lattice units], on rank 0."""
        states, to_lattice = self._view.openings(), self._view.units.flow_rate_to_lattice
        return None if states is None else np.array([to_lattice(states[name].flow_rate_m3_s) for name in self.names])

    def _leaving(self, names: list[str], boundary: ScalarBoundary) -> np.ndarray | None:
        """(n_outlets,) amount of populations that leaves through each outlet in a step [lattice units], what has been
        sent through its links less what comes back, summed in the order of voxels and directions, on rank 0."""
        view, lattice, pieces = self._view, self.scalar.lattice, []
        rows = [view.local_field(name) for name in names]
        for q, (node, opening) in enumerate(self._links(), start=1):
            sent, away = (row[node].astype(np.float64) for row in (rows[q], rows[lattice.opposite[q]]))
            condition = boundary.n_walls + 1 + opening
            kind, held = boundary.kind[condition], boundary.value[condition]
            # Back comes what the node has sent away from the outlet; of a held value 2 w T_w less what has been sent.
            net = np.where(kind == FIXED, 2.0 * (sent - lattice.w[q] * held), np.where(kind == OUTFLOW, sent - away, 0))
            pieces.append((view.domain.voxel[node], np.full(node.size, q), opening, net))
        gathered = view.communicator.gather(tuple(np.concatenate(part) for part in zip(*pieces, strict=True)))
        if gathered is None:
            return None
        voxel, direction, opening, flux = (np.concatenate(part) for part in zip(*gathered, strict=True))
        order = np.lexsort((direction, voxel))
        return np.array([flux[order][opening[order] == number].sum() for number in self._outlets])

    def _links(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each direction but rest, the nodes of this rank whose link leads into an outlet, and the number of that;
        found once for the nodes that the rank has."""
        domain, lattice = self._view.domain, self.scalar.lattice
        if self._surveyed is not domain:
            self._surveyed, self._found = domain, []
            codes = [FIRST_OPENING_LINK - number for number in self._outlets]
            for q in range(1, lattice.q):
                code = domain.neighbours_with_ghosts(lattice.c[q : q + 1], slice(0, domain.n_nodes))[0]
                node = np.flatnonzero(np.isin(code, codes))
                self._found.append((node, FIRST_OPENING_LINK - code[node]))
        return self._found


class ScalarSeries(SeriesObserver):
    """Appends the mean of what leaves through each outlet, weighted by the flow, and that of all fluid.

    Args:
        fluxes: measures them.
        view, folder, resume_step: as of all series.
    """

    def __init__(self, fluxes: OutletFluxes, view: FlowView, folder: Path, resume_step: int | None):
        self._fluxes, self.file = fluxes, f"{fluxes.scalar.name}.csv"
        self.files = (self.file,)
        super().__init__(view, folder, resume_step)

    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._fluxes.columns

    def numbers(self) -> list[float] | None:
        """Means in SI units, on rank 0; NaN for an outlet through which nothing leaves; collective."""
        found = self._fluxes.numbers()
        return None if found is None else self._fluxes.means_si(found)
