"""Amounts of species that pass through openings and walls, or react, over time, ``species_NAME.csv``, and the record of
all species at the end of a run: a table and lines of the summary.

The inflow of a step is measured ahead of it, and sources are those of the present instant, so that from one step to the
next the amount changes by all that enters and by the mean of the sources of both, to the last digits.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from math import isfinite, isnan
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import DivergedError
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.wall_exchange import WallLinks
from muphy_lb.output.report_html import ReportPart, ReportTable, series_charts
from muphy_lb.physics.scalar import CarriedScalar, setting_of
from muphy_lb.physics.scalar_series import OutletFluxes, Populations
from muphy_lb.physics.scalar_walls import WallFluxes, entering, through_links
from muphy_lb.physics.species.section import SERIES_FILE

BEYOND = 0.05
"""Distance of a value from the range that a species cannot leave, over that range, beyond which a result is doubtful:
ripples of sharp fronts, and the divergence of the velocity as the species meets it beside stairs of voxels."""
STAYS = 0.02  # share of what enters that stays, or of what leaves that was there, from which a species is not steady
GOOD_PECLET = 1.0  # cell Peclet number with which both are small


class SpeciesTold:
    """Measures a species; every call is collective.

    Args:
        walls: names of the walls with a condition for it.
        bounds: the range that it cannot leave, infinite where there is no bound.

    Attributes:
        columns: names of the numbers of :meth:`numbers_si`.
        rate_unit: of fluxes.
    """

    def __init__(
        self,
        view: FlowView,
        scalar: CarriedScalar,
        carrier: Populations,
        walls: Sequence[str],
        bounds: tuple[float, float],
    ):
        self._view, self.scalar, self.walls, self.bounds = view, scalar, tuple(walls), bounds
        self._outlets = OutletFluxes(view, scalar, carrier, by_carrier=True)
        self._fluxes: tuple[int, WallFluxes] | None = None
        self.rate_unit = (
            f"{scalar.unit.removesuffix('/m3')}/s" if scalar.unit.endswith("/m3") else f"{scalar.unit} m3/s"
        )
        rate = self.rate_unit.replace("/", "_").replace(" ", "_")
        self.openings = [opening.name for opening in view.header.openings]
        entering = [*self.walls, *self.openings, "sources"]
        self.columns = [*self._outlets.columns, *(f"{name}_{scalar.name}_{rate}" for name in entering)]

    @property
    def outlets(self) -> list[str]:
        """Names of the outlets."""
        return self._outlets.names

    @property
    def column_of_all(self) -> str:
        """The name of the mean of all fluid."""
        return self._outlets.columns[-1]

    @property
    def columns_of_outlets(self) -> dict[str, tuple[str, str]]:
        """For each outlet, the names of the columns of the mean outflow value and of the rate at which the species
        enters."""
        first = len(self._outlets.columns) + len(self.walls)
        rates = dict(zip(self.openings, self.columns[first:], strict=False))
        return {name: (mean, rates[name]) for name, mean in zip(self.outlets, self.columns, strict=False)}

    def numbers_si(self) -> list[float] | None:
        """The mean of what leaves through each outlet, that of all fluid, what enters a second through each wall and
        opening, and what sources give, in SI units, on rank 0."""
        found, walls, openings = self._outlets.numbers(), self.through_walls_si(), self._outlets.entering()
        sources = self._sources()
        if found is None or openings is None or sources is None:
            return None
        if not isfinite(found[-1]):
            raise DivergedError(
                f"the species {self.scalar.name} is not a number at step {self._view.step_number}; take a shorter"
                " lattice.time_step_s, or a rate law that stays finite"
            )
        rates = self._view.units.flow_rate_to_si(np.append(openings, sources))
        return [*self._outlets.means_si(found), *walls, *rates.tolist()]

    def _sources(self) -> float | None:
        """The gain of all nodes in a step of the flow by production, decay and reactions [lattice units], on rank 0."""
        scalar, view = self.scalar, self._view
        if not (scalar.half_gain or scalar.production or scalar.decay):
            return 0.0
        carrier = view.model_field(scalar.carrier)
        given = view.model_field(scalar.half_gain or scalar.name)
        if carrier is None or given is None:
            return None
        amounts = given.astype(np.float64) * (1.0 + carrier)
        gains = 2.0 / view.stride * amounts if scalar.half_gain else scalar.production - scalar.decay * amounts
        return float(np.sum(gains))

    def through_walls_si(self) -> list[float]:
        """The amount a second that enters the fluid through each wall with a condition; empty off rank 0."""
        if not self.walls:
            return []
        found = entering(self._view, self.scalar, self._at_walls())
        return [] if found is None else [self._view.units.flow_rate_to_si(found.get(wall, 0.0)) for wall in self.walls]

    def flux_from_walls_si(self) -> np.ndarray | None:
        """(n,) fluxes [unit m/s] into the fluid over the true area of walls with a condition that belongs to a node, 0
        elsewhere, on rank 0."""
        fluxes = self._at_walls()
        found = through_links(self._view, self.scalar, fluxes)
        if fluxes is None or found is None:
            return None
        return self._view.units.velocity_to_si(fluxes.per_area(found, self._view.header.n_nodes))

    def links_into(self, wall: str) -> WallLinks | None:
        """The links into a wall with what enters the fluid through each, on rank 0."""
        fluxes = self._at_walls()
        found = through_links(self._view, self.scalar, fluxes)
        if fluxes is None or found is None:
            return None
        chosen, units = fluxes.of_wall(wall), self._view.units
        voxel = whole_nodes(self._view).voxel[:][fluxes.node[chosen]]
        area_m2 = fluxes.area[chosen] * units.spacing_m**2
        return WallLinks(voxel, fluxes.vector[chosen], units.flow_rate_to_si(found[chosen]), area_m2)

    def _at_walls(self) -> WallFluxes | None:
        """The links into walls with a condition, found once for the length of a step, on rank 0."""
        view = self._view
        if view.communicator.rank:
            return None
        if self._fluxes is None or self._fluxes[0] != view.stride:
            self._fluxes = view.stride, WallFluxes(whole_nodes(view), self.scalar.over(view.stride), self.walls)
        return self._fluxes[1]

    def transfer(self, fluxes_si: Mapping[str, float]) -> dict[str, dict]:
        """For each wall, from what enters through it: its area, the mean flux over it, the mean value at it where the
        condition gives this, and the Sherwood number, flux times length over diffusivity and the difference between
        that value and the mean of the fluid by speed; on rank 0, collective."""
        view, spacing_m = self._view, self._view.units.spacing_m
        values, velocity = view.model_field(self.scalar.name), view.velocity_m_s()
        fluxes, section = self._at_walls(), next(s for s in view.case.species if s.name == self.scalar.name)
        if fluxes is None or values is None or velocity is None:
            return {}
        speed = np.linalg.norm(velocity.astype(np.float64), axis=1)
        mean = float(np.average(values, weights=speed if speed.any() else None))
        found = {}
        for name, rate in fluxes_si.items():
            if name not in fluxes.areas:
                continue
            area_m2 = fluxes.areas[name] * spacing_m**2
            flux, wall = rate / area_m2, next(each for each in view.case.walls if each.name == name)
            at_wall = _value_at(wall, self.scalar.name, flux)
            sherwood = None
            if section.length_m is not None and at_wall is not None and at_wall != mean:
                diffusivity_m2_s = view.units.velocity_to_si(self.scalar.diffusivity) * spacing_m
                sherwood = float(flux * section.length_m / diffusivity_m2_s / (at_wall - mean))
            found[name] = {"area_m2": area_m2, "mean_flux": flux, "mean_value": at_wall, "sherwood": sherwood}
        return found

    def stored_share(self, numbers: Sequence[float]) -> float:
        """Sum of all rates of :meth:`numbers_si` over what enters by them or, if that is more, leaves; 0 where this
        would hardly have changed the amount in the time that has passed."""
        mean, rates, view = numbers[len(self.outlets)], numbers[len(self.outlets) + 1 :], self._view
        entering, stored = sum(rate for rate in rates if rate > 0.0), sum(rates)
        through = max(entering, entering - stored)
        amount = abs(mean) * view.header.n_nodes * view.units.spacing_m**3
        return stored / through if through > 0.0 and abs(stored) * view.time_s > STAYS * amount else 0.0

    def record(self) -> dict | None:
        """The values and amounts at the end, on rank 0."""
        numbers, values = self.numbers_si(), self._view.model_field(self.scalar.name)
        walls = numbers[len(self.outlets) + 1 :] if numbers else [0.0] * len(self.walls)
        transfer = self.transfer(dict(zip(self.walls, walls, strict=False))) if self.walls else {}
        carrier = self._view.model_field(self.scalar.carrier)
        if numbers is None or values is None or carrier is None:
            return None
        n_outlets, first_opening = len(self.outlets), len(self.outlets) + 1 + len(self.walls)
        held = float(np.sum(values * (1.0 + carrier), dtype=np.float64))
        leaves = dict(zip(self.outlets, numbers[:n_outlets], strict=True))
        return {
            "unit": self.scalar.unit,
            "lowest": float(values.min()),
            "highest": float(values.max()),
            "mean": numbers[n_outlets],
            "amount": held * self._view.units.spacing_m**3,
            "outlet_means": {name: None if isnan(value) else value for name, value in leaves.items()},
            "rate_unit": self.rate_unit,
            "enters_through_walls": dict(zip(self.walls, numbers[n_outlets + 1 : first_opening], strict=True)),
            "enters_through_openings": dict(zip(self.openings, numbers[first_opening:-1], strict=True)),
            "sources": numbers[-1],
            "stored_share": self.stored_share(numbers),
            "walls": transfer,
        }


def _value_at(wall, name: str, flux: float) -> float | None:
    """The mean value at a wall, from its condition and the mean flux into the fluid; None where it has a given flux. Of
    one that saturates it is the value of which that is the uptake."""
    beyond, rate = (wall.species or {}).get(name), (wall.species_uptake_m_s or {}).get(name)
    if rate is None:
        return beyond
    if rate == 0.0:
        return None
    level = (wall.species_saturation or {}).get(name)
    saturated = 1.0 if level is None else 1.0 + flux / (rate * level)
    return (beyond or 0.0) - flux / rate / saturated


class SpeciesSeries(SeriesObserver):
    """Appends the numbers of a species to ``species_NAME.csv``; ``told`` measures them."""

    def __init__(self, told: SpeciesTold, view: FlowView, folder: Path, resume_step: int | None):
        self._told, self.file = told, SERIES_FILE.format(told.scalar.name)
        self.files = (self.file,)
        super().__init__(view, folder, resume_step)

    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._told.columns

    def numbers(self) -> list[float] | None:
        """One number per column, on rank 0."""
        return self._told.numbers_si()


class SpeciesRecord(Observer):
    """The record of all species at the end; ``told`` measures each."""

    name = "species"

    def __init__(self, told: Sequence[SpeciesTold], view: FlowView, folder: Path):
        self._told, self._view, self._folder = told, view, folder

    def finish(self) -> dict | None:
        """A record by the name of the species, on rank 0."""
        records = {each.scalar.name: each.record() for each in self._told}
        return None if None in records.values() else records

    def objections(self) -> tuple[str, ...]:
        """Values beyond the range of a species, and species that are not steady in a flow that is to be."""
        max_speed = self._view.health().max_speed
        found = [self._objection(each, max_speed) for each in self._told]
        if self._view.case.run.steady_tolerance is not None:
            found += [self._filling(each) for each in self._told]
        return tuple(filter(None, found))

    def _filling(self, measured: SpeciesTold) -> str | None:
        numbers = measured.numbers_si()
        stays = measured.stored_share(numbers) if numbers else 0.0
        if abs(stays) <= STAYS:
            return None
        return (
            f"the species {measured.scalar.name} is not steady, though the flow may be, which run.steady_tolerance"
            f" watches alone: {_staying(stays)}; resume without it and with more run.steps"
        )

    def _objection(self, measured: SpeciesTold, max_speed: float) -> str | None:
        scalar, view, (low, high) = measured.scalar, self._view, measured.bounds
        values = view.model_field(scalar.name)
        if values is None:
            return None
        lowest, highest = float(values.min()), float(values.max())
        allowed = BEYOND * (min(high, highest) - low)
        if lowest >= low - allowed and highest <= high + allowed:
            return None
        told = (
            f"the species {scalar.name} goes from {lowest:.3g} to {highest:.3g} {scalar.unit}, and nothing leads out of"
            f" {low:.3g} to {high:.3g}"
        )
        if max_speed == 0.0:
            return told
        units = view.units
        smoother_m2_s = units.velocity_to_si(max_speed) * units.spacing_m / GOOD_PECLET
        section = next(each for each in view.case.species if each.name == scalar.name)
        remedy = setting_of(section, f"species.{scalar.name}", smoother_m2_s, view.case.fluid.viscosity_m2_s)
        return (
            f"{told}: its diffusion does not smooth what lies between voxels (cell Peclet number"
            f" {max_speed / scalar.diffusivity:.3g}); it is {GOOD_PECLET:g} with {remedy}, or with finer voxels"
        )

    def lines(self, summary: Mapping) -> list[str]:
        """The record as lines of text."""
        return [_line(name, record) for name, record in summary[self.name].items()]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as a table, and charts over time."""
        rows, charts = [], []
        for told in self._told:
            name = told.scalar.name
            record = summary[self.name][name]
            unit, rate = record["unit"], record["rate_unit"]
            rows.append((f"{name}, mean [{unit}]", record["mean"]))
            rows += [
                (f"{name}, mean of what leaves through {outlet} [{unit}]", value)
                for outlet, value in record["outlet_means"].items()
                if value is not None
            ]
            rows += [
                (f"{name}, enters through {through} [{rate}]", value)
                for through, value in (record["enters_through_walls"] | record["enters_through_openings"]).items()
            ]
            rows += [
                (f"{name}, Sherwood number of {wall}", each["sherwood"])
                for wall, each in record["walls"].items()
                if each["sherwood"] is not None
            ]
            rows += [(f"{name}, from sources [{rate}]", record["sources"])] if record["sources"] else []
            quantities = {f"mean_{told.scalar.column}": f"mean value [{unit}]"}
            charts.append(partial(series_charts, self._folder / SERIES_FILE.format(name), name, quantities))
        table = ReportTable("Species", ("", "at the end"), rows)
        return ReportPart(tables=(table,), charts=lambda: [chart for made in charts for chart in made()])


def _staying(share: float) -> str:
    if share > 0.0:
        return f"{100.0 * share:.3g} % of what enters stays"
    return f"{-100.0 * share:.3g} % of what leaves had been there"


def _line(name: str, record: Mapping) -> str:
    unit = record["unit"]
    text = f"species {name}: mean {record['mean']:.4g} {unit} ({record['lowest']:.4g} to {record['highest']:.4g})"
    leaves = [f"{outlet} {value:.4g}" for outlet, value in record["outlet_means"].items() if value is not None]
    walls = [f"{wall} {value:.4g}" for wall, value in record["enters_through_walls"].items()]
    text += f"; leaves through {', '.join(leaves)} {unit}" if leaves else ""
    numbers = [
        f"{wall} {each['sherwood']:.4g}" for wall, each in record["walls"].items() if each["sherwood"] is not None
    ]
    text += f"; enters through {', '.join(walls)} {record['rate_unit']}" if walls else ""
    stays = record["stored_share"]
    text += f"; {_staying(stays)}" if abs(stays) > STAYS else ""
    return text + (f"; Sherwood number: {', '.join(numbers)}" if numbers else "")
