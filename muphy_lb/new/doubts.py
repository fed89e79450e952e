"""Doubts about a new vessel or rock that a user should hear of: guessed openings, unusual sizes, speeds, porosities."""

from collections.abc import Iterator, Sequence

from muphy_lb.geometry.openings.find import FoundOpening
from muphy_lb.new.prompt import CaseOptions

DIAMETERS_M = (3e-6, 0.1)
"""Diameters of vessels: from less than a blood cell to the widest aneurysms."""

FASTEST_BLOOD_M_S = 5.0
"""Blood is hardly ever faster, even in a narrow valve."""

MOST_OF_A_ROCK = 0.5
"""Porosity above which grains are more likely to have been taken for pores. Topology tells less: in rocks and packs of
spheres grains and pores are both connected, and few voxels of either are not."""

FACES_OF_A_ROCK = 4
"""A vessel rarely leaves an image through more faces of its box than these."""


def vessel_doubts(requested: CaseOptions, openings: Sequence[FoundOpening], velocity_m_s: float) -> Iterator[str]:
    """Warnings about a vessel.

    Args:
        requested: the options.
        openings: the openings found, the inlet first.
        velocity_m_s: mean velocity at the inlet [m/s].
    """
    faces = {item.source for item in openings if item.source.startswith("face of the box")}
    if len(faces) > FACES_OF_A_ROCK:
        yield (
            f"the fluid of {requested.file} meets {len(faces)} faces of the box, as that of a rock does: the inlet (the"
            f" largest section) and the {len(openings) - 1} outlets are a guess; for a rock: muphy-lb new rock"
            f" {requested.file}; else check [[openings]] in the case, and leave out those that are walls"
        )
    if requested.fluid != "blood":
        return
    (narrowest_m, widest_m), diameter_m = DIAMETERS_M, 2.0 * openings[0].equivalent_radius_m
    if requested.file is not None and not narrowest_m <= diameter_m <= widest_m:
        key = f"--unit {requested.unit}" if requested.is_surface else "the voxel edge (--spacing, in metres)"
        yield (
            f"the inlet is {diameter_m:.3g} m across, and vessels are {narrowest_m:g} to {widest_m:g} m wide:"
            f" check {key}"
        )
    if velocity_m_s > FASTEST_BLOOD_M_S:
        yield (
            f"blood of {velocity_m_s:.4g} m/s is faster than in any vessel (up to {FASTEST_BLOOD_M_S:g} m/s): a number"
            f" is in m/s; if these are cm/s, give --velocity '{velocity_m_s:.4g} cm/s'"
        )


def rock_doubts(porosity: float) -> Iterator[str]:
    """Warnings about a rock of this porosity."""
    if porosity > MOST_OF_A_ROCK:
        yield (
            f"a porosity of {porosity:.2f} is more than that of rocks and packs of grains (up to {MOST_OF_A_ROCK};"
            " foams, fibres and pumice have more): if grains were taken for pores, give --option fluid_value=NUMBER, or"
            " --option invert=true"
        )
