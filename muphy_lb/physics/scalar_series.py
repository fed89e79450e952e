"""Fluxes of a carried scalar through openings, and its mean over the fluid: ``NAME.csv``."""

from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from muphy_lb.domain import FIXED, FLUX, INFLOW, LocalDomain, ScalarBoundary
from muphy_lb.geometry.neighbours import FIRST_OPENING_LINK
from muphy_lb.lattice import Lattice
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView


class Measured(Protocol):
    """A scalar as it is measured; :class:`muphy_lb.physics.scalar.CarriedScalar` describes the attributes."""

    @property
    def name(self) -> str:
        """Name of its field."""

    @property
    def column(self) -> str:
        """Name of its columns in tables."""

    @property
    def rows(self) -> list[str]:
        """Fields of its populations."""

    @property
    def lattice(self) -> Lattice:
        """Velocity set of its populations."""

    @property
    def in_si(self) -> float:
        """Its value of 1 in SI units."""

    @property
    def boundary(self) -> ScalarBoundary:
        """Its conditions."""


class Populations(NamedTuple):
    """Populations by the names of their fields, and their conditions."""

    rows: list[str]
    boundary: ScalarBoundary


class OutletFluxes:
    """Measures how much of a scalar passes through each opening, and how much there is; every call is collective.

    Args:
        by_carrier: whether means of what leaves are weighted by the flux of the carrier, so that a uniform value is
            told as such; else by the flow rate.

    Attributes:
        scalar: as given.
        names: names of the outlets.
    """

    def __init__(self, view: FlowView, scalar: Measured, carrier: Populations, by_carrier: bool = False):
        self._view, self.scalar, self._carrier, self._by_carrier = view, scalar, carrier, by_carrier
        self._outlets = [number for number, each in enumerate(view.header.openings) if each.kind == "outlet"]
        self.names = [view.header.openings[number].name for number in self._outlets]
        self._surveyed: LocalDomain | None = None
        self._found: list[tuple[np.ndarray, np.ndarray]] = []

    @property
    def columns(self) -> list[str]:
        """Names of the means of outlets, and of that of all fluid."""
        return [*(f"{name}_mean_{self.scalar.column}" for name in self.names), f"volume_mean_{self.scalar.column}"]

    def numbers(self) -> np.ndarray | None:
        """(2 n_outlets + 1,) lattice units: scalar that leaves through each outlet in a step, fluid or carrier that
        does, and the mean of all fluid, on rank 0."""
        view = self._view
        leaving, values, flows = self.leaving(), view.model_field(self.scalar.name), self._flows()
        if leaving is None or values is None or flows is None:
            return None
        return np.array([*leaving, *flows, values.mean(dtype=np.float64)])

    def _flows(self) -> np.ndarray | list[float] | None:
        """(n_outlets,) fluid, or carrier, that leaves through each outlet in a step, on rank 0."""
        if self._by_carrier or self._view.beat:  # openings() stay as they are while a beat is replayed
            entering = self._entering(self._carrier)
            return None if entering is None else -entering[self._outlets]
        states, units = self._view.openings(), self._view.units
        if states is None:
            return None
        return [units.flow_rate_to_lattice(states[name].flow_rate_m3_s) for name in self.names]

    def means_si(self, numbers: np.ndarray) -> list[float]:
        """Mean of what leaves through each outlet, weighted by the flow, and that of all fluid, in SI units, from
        :meth:`numbers` or means of them; NaN for an outlet through which nothing leaves."""
        leaving, flows = numbers[:-1].reshape(2, -1)
        means = [flux / flow if flow > 0.0 else np.nan for flux, flow in zip(leaving, flows, strict=True)]
        return [float(x) * self.scalar.in_si for x in (*means, numbers[-1])]

    def leaving(self) -> np.ndarray | None:
        """(n_outlets,) scalar that leaves through each outlet in a step of the flow [lattice units], on rank 0."""
        entering = self.entering()
        return None if entering is None else -entering[self._outlets]

    def entering(self) -> np.ndarray | None:
        """(n_openings,) scalar that enters through each opening in a step of the flow ahead [lattice units], less what
        leaves, on rank 0."""
        return self._entering(Populations(self.scalar.rows, self.scalar.boundary))

    def _entering(self, populations: Populations) -> np.ndarray | None:
        """The amount that populations bring through the links of each opening in a step of the flow, summed by voxel
        and direction."""
        view, pieces, links = self._view, [], zip(self._links(), self._brought(populations), strict=True)
        for q, ((node, opening), net) in enumerate(links, start=1):
            pieces.append((view.domain.voxel[node], np.full(node.size, q), opening, net))
        gathered = view.communicator.gather(tuple(np.concatenate(part) for part in zip(*pieces, strict=True)))
        if gathered is None:
            return None
        voxel, direction, opening, flux = (np.concatenate(part) for part in zip(*gathered, strict=True))
        order = np.lexsort((direction, voxel))
        n_openings = len(view.header.openings)
        brought = [flux[order][opening[order] == number].sum() for number in range(n_openings)]
        return np.array(brought) / view.stride

    def _brought(self, populations: Populations) -> list[np.ndarray]:
        """For each direction but rest, what enters through the links into openings, which lie half-way, less what has
        left (:mod:`muphy_lb.domain.scalar_streaming`)."""
        view, lattice, boundary = self._view, self.scalar.lattice, populations.boundary
        rows = [view.local_field(name).astype(np.float64) for name in populations.rows]
        values, found = self._values(boundary), []
        carrier = None if populations is self._carrier else self._brought(self._carrier)
        carried = view.local_field(self.scalar.name)
        for q, (node, opening) in enumerate(self._links(), start=1):
            number = boundary.n_walls + 1 + opening
            kind, value, sent = boundary.kind[number], values[number], rows[q][node]
            if carrier is None:
                free = rows[lattice.opposite[q]][node] - sent
            else:
                free = np.where(kind == INFLOW, value, carried[node]) * carrier[q - 1]
            held = 2.0 * lattice.w[q] * value - sent - sent
            found.append(np.where(kind == FIXED, held, np.where(kind == FLUX, 0.0, free)))
        return found

    def _values(self, boundary: ScalarBoundary) -> np.ndarray:
        """The values of the conditions in the step ahead."""
        values, view = boundary.value.copy(), self._view
        middle_s = np.full(1, view.units.steps_to_time(view.step_number + 0.5 * view.stride))
        for number, course in boundary.over(view.stride).courses.items():
            values[number] *= course(middle_s)[0]
        return values

    def _links(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each direction but rest, the nodes of this rank whose link leads into an opening, and the number of that;
        found once for the nodes that the rank has."""
        domain, lattice = self._view.domain, self.scalar.lattice
        if self._surveyed is not domain:
            self._surveyed, self._found = domain, []
            codes = FIRST_OPENING_LINK - np.arange(len(self._view.header.openings))
            for q in range(1, lattice.q):
                code = domain.neighbours_with_ghosts(lattice.c[q : q + 1], slice(0, domain.n_nodes))[0]
                node = np.flatnonzero(np.isin(code, codes))
                self._found.append((node, FIRST_OPENING_LINK - code[node]))
        return self._found


class ScalarSeries(SeriesObserver):
    """Appends the mean of what leaves through each outlet, weighted by the flow, and that of all fluid. ``fluxes``:
    measures them; ``view``, ``folder``, ``resume_step``: as of all series."""

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
