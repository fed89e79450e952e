"""Records that a simulation answers with: frozen, in SI units, shown with their units in terminals and notebooks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from html import escape
from typing import Generic, TypeVar

import numpy as np

from muphy_lb.base.key_units import name_without_unit, unit_of
from muphy_lb.measure import permeability as measured
from muphy_lb.measure.records import OpeningState, WallForce
from muphy_lb.run.verdict import SOUND

Row = TypeVar("Row", bound="Record")
OTHER_UNITS = {"darcy": "darcy", "voxels": "voxels", "voxel2": "voxels2"}
WHOLE = {"mflups": ("speed", "million node updates/s"), "torque_n_m": ("torque", "N m")}
"""Name and unit of attributes whose names do not contain both."""


class Record:
    """Base of the records: shows every attribute with the unit that its name ends in."""

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Name, value and unit of every attribute that is shown, as text."""
        for each in fields(self):  # type: ignore[arg-type]  # the records are dataclasses
            value = getattr(self, each.name)
            if each.repr and value is not None and not isinstance(value, Mapping | np.ndarray):
                name, unit = _split(each.name)
                yield name, _shown(value), unit

    def __repr__(self):
        said = (f"{name} {value}{f' {unit}' if unit else ''}" for name, value, unit in self.rows() if value)
        return f"{type(self).__name__}({', '.join(said)})"

    def __str__(self):
        rows = [(name, f"{value} {unit}".rstrip()) for name, value, unit in self.rows() if value]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(value)}</td><td>{escape(unit)}</td></tr>"
            for name, value, unit in self.rows()
        )
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"


class Records(Mapping[str, Row], Generic[Row]):
    """Records by name, shown as a table; it does not change."""

    def __init__(self, found: Mapping[str, Row]):
        self._found = dict(found)

    def __getitem__(self, name: str) -> Row:
        try:
            return self._found[name]
        except KeyError:
            raise KeyError(f"{name!r}; there are: {', '.join(self._found) or 'none'}") from None

    def __iter__(self):
        return iter(self._found)

    def __len__(self):
        return len(self._found)

    def __repr__(self):
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ("  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)) for row in table)
        return "\n".join(line.rstrip() for line in lines) if self._found else "none"

    def _repr_html_(self) -> str:
        head, *rows = (list(map(escape, row)) for row in self._table())
        lines = [f"<tr><th>{row[0]}</th>{''.join(f'<td>{text}</td>' for text in row[1:])}</tr>" for row in rows]
        titles = "".join(f"<th>{text}</th>" for text in head)
        return f"<table><tr>{titles}</tr>{''.join(lines)}</table>" if self._found else "none"

    def _table(self) -> list[list[str]]:
        """Names and units of the attributes; below them every record with its name."""
        units = {name: unit for record in self._found.values() for name, _, unit in record.rows()}
        titles = [f"{name} [{unit}]" if unit else name for name, unit in units.items()]
        values = {name: {key: text for key, text, _ in record.rows()} for name, record in self._found.items()}
        return [["", *titles], *([name, *(texts.get(key, "") for key in units)] for name, texts in values.items())]


@dataclass(frozen=True, repr=False)
class Opening(Record, OpeningState):
    """The flow at an opening; attributes as of :class:`muphy_lb.measure.records.OpeningState`.

    ``kind``, ``area_m2``, ``flow_rate_m3_s`` (positive in the direction of the kind: into the fluid at inlets, out at
    outlets), ``mean_pressure_pa`` (with the reference pressure), ``feedback`` (state of a condition that answers
    its flow).
    """

    @property
    def mean_velocity_m_s(self) -> float:
        """Flow rate over area [m/s], positive in the direction of the kind."""
        return self.flow_rate_m3_s / self.area_m2


@dataclass(frozen=True, repr=False)
class Force(Record, WallForce):
    """Force of the fluid on a labelled wall; attributes as of :class:`muphy_lb.measure.records.WallForce`.

    ``force_n``, ``torque_n_m`` (about the wall's centre), ``body_force_share_n``, and with a reference velocity and
    area in the case ``drag_coefficient``, ``lift_coefficient``.
    """


@dataclass(frozen=True, repr=False)
class Permeability(Record, measured.Permeability):
    """Permeability of a rock, and indicators of its reliability; attributes as of
    :class:`muphy_lb.measure.permeability.Permeability`: ``permeability_m2``, ``porosity``, ``tortuosity``,
    ``reynolds``, ``warnings`` and others."""


@dataclass(frozen=True, repr=False)
class Health(Record):
    """The flow as a whole.

    Attributes:
        step_number, time_s: when.
        max_velocity_m_s, mean_velocity_m_s: largest and mean speed [m/s].
        mach: Mach number of the largest.
        mass_change: relative change of the mass since the start.
    """

    step_number: int
    time_s: float
    max_velocity_m_s: float
    mean_velocity_m_s: float
    mach: float
    mass_change: float


@dataclass(frozen=True, repr=False, eq=False)
class WallShear(Record):
    """Wall shear stress, the force of the fluid along the wall per area, at the nodes adjacent to walls.

    Attributes:
        n_nodes: number of these nodes, m.
        n_counted: those that the statistics count: farther than a diameter from every opening.
        mean_pa, median_pa, p95_pa, max_pa: of the magnitude at the counted nodes, weighted by their area of the wall
            [Pa]; those of the summary of a run.
        warnings: reasons to doubt the values.
        points_m: (m, 3) points of the wall (x, y, z) [m], on rank 0; None elsewhere, as what follows.
        normals: (m, 3) unit vectors out of the fluid.
        traction_pa: (m, 3) wall shear stress (x, y, z) [Pa].
        counted: (m,) which nodes the statistics count.
    """

    n_nodes: int
    n_counted: int
    mean_pa: float
    median_pa: float
    p95_pa: float
    max_pa: float
    warnings: tuple[str, ...] = ()
    points_m: np.ndarray | None = field(default=None, repr=False)
    normals: np.ndarray | None = field(default=None, repr=False)
    traction_pa: np.ndarray | None = field(default=None, repr=False)
    counted: np.ndarray | None = field(default=None, repr=False)

    @property
    def magnitude_pa(self) -> np.ndarray | None:
        """(m,) magnitude [Pa], on rank 0."""
        return None if self.traction_pa is None else np.linalg.norm(self.traction_pa, axis=1)


@dataclass(frozen=True, repr=False)
class Outcome(Record):
    """The outcome of a run.

    Attributes:
        ended: why it ended: completed, steady, stopped, or a signal.
        is_steady: whether the flow met the criterion; None without one.
        step_number, time_s: when it ended.
        wall_time_s: how long the run took [s].
        mflups: million node updates per second of stepping.
        verdict: "sound" where balance, steadiness and density were judged and nothing speaks against the result;
            "doubtful" where something does; "not judged" where that was not looked at.
        statements: what was found of balance, steadiness and density.
        objections: what speaks against the result, each with a remedy.
        not_judged: what was not looked at, each with the key that asks for it.
    """

    ended: str
    is_steady: bool | None
    step_number: int
    time_s: float
    wall_time_s: float
    mflups: float
    verdict: str
    statements: tuple[str, ...] = ()
    objections: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether the result was judged and there is no objection."""
        return self.verdict == SOUND


def _split(name: str) -> tuple[str, str]:
    if name in WHOLE:
        return WHOLE[name]
    for end, unit in OTHER_UNITS.items():
        if name.endswith(f"_{end}"):
            return name.removesuffix(f"_{end}").replace("_", " "), unit
    unit = (unit_of(name, {}) or "").replace("^", "").replace("*", " ")
    return name_without_unit(name).replace("_", " "), unit


def _shown(value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value + 0.0:.5g}"  # not -0
    if isinstance(value, tuple):
        is_text = any(isinstance(entry, str) for entry in value)
        return "; ".join(map(str, value)) if is_text else f"({', '.join(map(_shown, value))})" if value else ""
    return str(value)
