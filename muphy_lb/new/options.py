"""The options of a new case: from the command line, from prompts, or by default; checked before a file is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from muphy_lb.base.errors import InputError
from muphy_lb.base.files import PREPARED
from muphy_lb.case.section import did_you_mean
from muphy_lb.geometry.load import BARE_FORMATS, LOADERS, file_ending
from muphy_lb.geometry.quantities import UNIT_WORDS, WithUnit, metres_per_unit, number_in_si
from muphy_lb.new import FLUIDS, KINDS, Substance
from muphy_lb.new.circulation import Circulation
from muphy_lb.setup.advice.stability import SURFACES

ATTEMPTS = 3

DEFAULT_FLUID = MappingProxyType({"vessel": "blood", "rock": "water", "channel": "water"})
DEFAULT_ACROSS = MappingProxyType({"vessel": 24, "rock": 64, "channel": 40})
ACROSS_WHAT = MappingProxyType(
    {"vessel": "the diameter of the inlet", "rock": "the edge of the cube", "channel": "the height of the channel"}
)

Ask = Callable[[str], str]

LARGEST_OF_A_ROCK_M = 1e-3
SMALLEST_M = 1e-10  # smaller than an atom: a unit has been applied twice


@dataclass(frozen=True)
class CaseOptions:
    """The options of a new case."""

    kind: str  #: one of KINDS
    file: Path | None = None  #: the geometry; ``None`` for a built-in example
    fluid: str = "water"  #: one of FLUIDS
    unit: str = "mm"  #: length unit of a surface; see :func:`~muphy_lb.geometry.quantities.metres_per_unit`
    #: voxel edge [m]; ``None``: that of the file, or derived from ``across`` and the flow
    spacing_m: float | None = None
    across: int | None = None  #: voxels across the inlet, cube or channel
    velocity_m_s: float | None = None  #: mean velocity at the inlet [m/s]; ``None``: a moderate Reynolds number
    reader: Mapping[str, object] = field(default_factory=dict)  #: options of the file's reader
    circulation: Circulation | None = None  #: what the outlets of a vessel with a beating heart have behind them

    def __post_init__(self):
        _check_word("kind", self.kind, KINDS)
        _check_word("--fluid", self.fluid, tuple(FLUIDS))
        metres_per_unit(self.unit)
        for name in ("spacing_m", "across", "velocity_m_s"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < float("inf"):
                raise InputError(f"new: --{name.split('_')[0]} is {value}; give a number above zero")
        self._check_file()
        self._check_circulation()
        if self.spacing_m is not None and self.across is not None:
            raise InputError("new: --spacing and --across are both given; the voxel edge follows from one of them")
        if self.across is not None and self.file is not None and not self.is_surface:
            raise InputError(f"new: --across does not go with {self.file}: an image has its own voxels; leave it out")

    @property
    def is_surface(self) -> bool:
        """Whether the file is a surface, for which the voxel size is free."""
        return self.file is not None and self.file.suffix.lower() in SURFACES

    @property
    def substance(self) -> Substance:
        """The properties of the fluid."""
        return FLUIDS[self.fluid]

    @property
    def n_across(self) -> int:
        """Voxels across: the requested number or the default."""
        return self.across or DEFAULT_ACROSS[self.kind]

    def _check_circulation(self) -> None:
        if self.circulation is None:
            return
        if self.kind != "vessel":
            raise InputError(
                f"new: --mean-pressure is that behind the outlets of a vessel; leave it out for a {self.kind}"
            )
        if self.velocity_m_s is not None and self.circulation.flow_rate_m3_s is not None:
            raise InputError("new: --velocity and --flow-rate are both given; the one follows from the other")

    def _check_file(self) -> None:
        if self.kind == "rock" and self.velocity_m_s is not None:
            raise InputError(
                f"new: --velocity {self.velocity_m_s:.4g} is that at the inlet of a vessel or channel; a body force"
                " drives a rock: leave it out, and change flow.acceleration_m_s2 in the case"
            )
        if self.file is None:
            if self.reader:
                raise InputError(f"new: --option {', '.join(self.reader)} goes with a file; leave it out or name one")
            return
        if self.kind == "channel":
            raise InputError(f"new: a channel is built in and takes no file; give vessel or rock for {self.file}")
        if not self.file.exists():
            raise InputError(f"new: {self.file} does not exist; check the path")
        if self.file.suffix.lower() == PREPARED:
            raise InputError(
                f"new: {self.file} is a prepared geometry ({PREPARED}); give the image or surface that it was made of,"
                f" and then put file = '{self.file.name}' alone into [geometry] of the case, and of each opening its"
                " name and condition alone"
            )
        if self.kind == "rock" and self.is_surface:
            raise InputError(f"new: {self.file} is not a voxel image; a rock needs one, such as .npy, .raw or .mha")


def prompt_options(given: Mapping[str, object], ask: Ask | None) -> CaseOptions:
    """The options that are given, the others by prompting, or by default if ``ask`` is None.

    Args:
        given: values by the names of the attributes of CaseOptions; None where not given.
        ask: takes a question, returns the answer; an empty answer selects the default.

    Raises InputError: an invalid option, or three invalid answers.
    """
    known: dict[str, Any] = {name: value for name, value in given.items() if value is not None}

    def option(name, question, default, parse=str, allowed=()):
        if name not in known and ask is not None:
            known[name] = _answer(ask, question, (default, allowed), parse)
        known.setdefault(name, default)
        return known[name]

    kind = option("kind", "kind of flow", "vessel", allowed=KINDS)
    _check_word("kind", kind, KINDS)
    if kind != "channel":
        endings = ", ".join(LOADERS)
        file = option("file", f"file of the geometry ({endings}); none for a built-in example", None, Path)
        known["file"] = None if file is None else Path(file)
    draft = CaseOptions(**known)
    if draft.is_surface:
        option("unit", f"length unit of the surface: {UNIT_WORDS}", "mm")
    if draft.file is not None and not draft.is_surface:
        in_m = partial(number_in_si, unit="m")
        option("spacing_m", "voxel edge [m]; none if the file states it", None, in_m)
    elif draft.spacing_m is None:
        usual = f"none for {DEFAULT_ACROSS[kind]}, or what the velocity needs"
        option("across", f"voxels across {ACROSS_WHAT[kind]}; {usual}", None, int)
    option("fluid", "fluid", DEFAULT_FLUID[kind], allowed=tuple(FLUIDS))
    if kind != "rock" and not (draft.circulation and draft.circulation.flow_rate_m3_s):
        question = "mean velocity at the inlet [m/s]; none for a moderate Reynolds number"
        option("velocity_m_s", question, None, partial(number_in_si, unit="m/s"))
    return CaseOptions(**known)


def _answer(ask: Ask, question: str, choice: tuple, parse: Callable[[str], object]):
    default, allowed = choice
    words = f" ({', '.join(allowed)})" if allowed else ""
    usual = f" [{default}]" if default is not None else ""
    for _ in range(ATTEMPTS):
        text = ask(f"{question}{words}{usual}: ").strip()
        if not text:
            return default
        try:
            value = parse(text)
        except ValueError:
            continue
        if not allowed or value in allowed:
            return value
    raise InputError(f"new: no usable answer to {question!r} after {ATTEMPTS} attempts; give the options instead")


def _check_word(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"new: {name} is {value!r}; {did_you_mean(value, allowed)}")


def in_metres(spacing: float | None, unit: str | None, file: Path | None, is_surface: bool) -> float | None:
    """The voxel edge [m] of the options ``--spacing`` and ``--unit``; the unit of a surface is that of its points.
    Raises InputError: an image has both a voxel edge with its unit and a unit."""
    if spacing is None or unit is None or file is None or is_surface:
        return spacing
    if isinstance(spacing, WithUnit):
        raise InputError(
            f"new: --spacing names its unit, and --unit {unit} is given: of an image it would count twice; leave --unit"
            " out"
        )
    return spacing * metres_per_unit(unit)


def check_voxel_edge(requested: CaseOptions, unit: str | None) -> None:
    """Refuse an image without a voxel edge, and a rock of voxels that are hardly those of one.

    Args:
        requested: the options of the case; its voxel edge in metres.
        unit: the unit that the user has given; None for none.

    Raises InputError: the message names the likely remedy.
    """
    file, spacing_m = requested.file, requested.spacing_m
    if file is None or requested.is_surface:
        return
    if spacing_m is None and "spacing_m" not in requested.reader and file_ending(file) in BARE_FORMATS:
        raise InputError(f"new: {file} does not contain its voxel edge; give it in metres, such as --spacing 5e-6")
    if spacing_m is not None and spacing_m < SMALLEST_M:
        raise InputError(
            f"new: the voxel edge of {file} is {spacing_m:.4g} m, less than an atom; give --spacing in metres, or with"
            " --unit in that unit"
        )
    if requested.kind == "rock" and unit is None and spacing_m is not None and spacing_m > LARGEST_OF_A_ROCK_M:
        raise InputError(
            f"new: the voxel edge of {file} is {spacing_m:.4g} m, unlikely for an image of a rock (usually some"
            f" micrometres). Give --spacing {spacing_m * 1e-6:.4g} if that were micrometres (or --unit um, mm),"
            " or --unit m if it is meant"
        )
