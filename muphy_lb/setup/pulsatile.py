"""Profiles of the openings that ask for those of a straight vessel of their section, and what is known of them."""

from collections.abc import Iterator, Mapping
from math import pi, sqrt

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.opening_geometry import opening_links
from muphy_lb.boundaries.profiles import TABLE_ERROR, Harmonics, PulsatileProfile, harmonics, pulsatile_profile
from muphy_lb.case.boundaries import OpeningSection
from muphy_lb.case.case import Case
from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.lattice import Lattice
from muphy_lb.setup.geometry import opening_sections
from muphy_lb.setup.waveforms import waveform_factor

WOMERSLEY = "womersley"
NEGLIGIBLE = 1e-6
"""Share of a waveform's range that its harmonics may leave without its being told: a series leaves rounding."""


def pulsatile_profiles(
    case: Case, nodes: NodeList, lattice: Lattice, frames, slip=()
) -> Mapping[int, PulsatileProfile]:
    """The profile of every opening with ``profile = "womersley"``, by number.

    The viscosity is that of the case's fluid, also with a viscosity law.

    Args:
        case: the case.
        nodes: the whole geometry.
        lattice: the velocity set.
        frames: measures of the openings.
        slip: numbers of the labelled walls that slip.

    Raises:
        InputError: an opening without a cross-section, or walls that slip, which the profile does not know.
    """
    asking = _asking(case, nodes)
    if not asking:
        return {}
    if slip:
        name, wall = next(iter(asking.values())).name, nodes.walls[slip[0]].name
        raise InputError(
            f"openings.{name}.profile is {WOMERSLEY!r}, for which all walls are at rest, but wall {wall!r} slips; give"
            " another profile, or let the wall not slip"
        )
    links = opening_links(nodes, lattice)
    per_second = case.fluid.viscosity_m2_s / nodes.spacing_m**2
    return {
        number: pulsatile_profile(
            nodes,
            lattice,
            links.select(links.boundary == number),
            frames[number],
            (_harmonics(case, section), per_second),
        )
        for number, section in asking.items()
    }


def describe_profiles(case: Case, nodes: GeometryHeader, frames) -> Iterator[str]:
    """Lines on the openings whose flow rate pulsates: the Womersley number R sqrt(omega / nu), and the harmonics of the
    profile.

    Args:
        case: the case.
        nodes: the geometry.
        frames: measures of its openings.

    Raises:
        InputError: a waveform cannot be read.
    """
    sections = opening_sections(nodes, case)
    for section, frame in zip(sections, frames, strict=True):
        found = None if section.has_pressure else _harmonics(case, section)
        if found is not None:
            yield from _lines(case, section, frame.radius * nodes.spacing_m, found)


def _lines(case: Case, section: OpeningSection, radius_m: float, found: Harmonics) -> Iterator[str]:
    number = radius_m * sqrt(2.0 * pi / found.factor.period_s / case.fluid.viscosity_m2_s)
    text = f"openings.{section.name}: Womersley number {number:.3g} (radius {radius_m:.3g} m)"
    if section.profile != WOMERSLEY:
        yield f"{text}; its {section.profile} profile keeps its shape (profile = {WOMERSLEY!r} would not)"
        return
    rest = found.largest_rest()
    left = f", which leave {100.0 * rest:.2g} % of the swing to the steady one" if rest > NEGLIGIBLE else ""
    yield f"{text}; profile of {found.number.size} harmonics{left}"
    if rest > TABLE_ERROR:
        yield (
            f"warning: openings.{section.name}.waveform has more harmonics than the {found.number.size} whose profiles"
            " are computed; the flow rate is right all the same: smooth its table if that is not meant"
        )


def _asking(case: Case, nodes: GeometryHeader) -> dict[int, OpeningSection]:
    sections = opening_sections(nodes, case)
    return {number: section for number, section in enumerate(sections) if section.profile == WOMERSLEY}


def _harmonics(case: Case, section: OpeningSection) -> Harmonics | None:
    factor = waveform_factor(case, section.waveform)
    return None if factor is None else harmonics(factor)
