"""The geometry files of ``$MUPHY_DATA``: how each is read, and what is published about it.

Sources: the README of the data folder, which counted and measured each file by itself, and the ``openings.json`` beside
some of them. Its radii of the two closed surfaces are those of circles about the caps, up to 26 % larger than these.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

TRIANGLES, LOOPS, WINDING, PARTS = "triangles", "boundary loops", "winding, 1 outward, -1 inward", "connected parts"
VOLUME, NODE_VOLUME = "volume, ends closed [m3]", "volume of the nodes [m3]"
FLUID_VOXELS, POROSITY = "fluid voxels", "porosity"
WALL_LINKS, INLET_LINKS, OUTLET_LINKS = "wall links", "inlet links", "outlet links"
THROUGH_X, THROUGH_Y, THROUGH_Z = (f"porosity leading through along {axis}" for axis in "xyz")
STORED_BELOW = "voxels below 0 in the file"
END_SLICES = "opening area / pixels of the end slices"
SURFACE_INSIDE = "fluid share of the surface's inside"

Y_SIDES = 32
Y_AREA = 0.5 * Y_SIDES * np.sin(2.0 * np.pi / Y_SIDES)  # of its polygonal tubes, in radii squared
Y_OUTLETS_APART = 6.0 * np.sqrt(2.0)  # in radii
Y_SPACING_M = 7e-3 * np.sqrt(2.0) / 124  # a whole number of voxels across: both halves are cut alike


class Fact(NamedTuple):
    """A published number and the largest relative error: 0 for what is counted, infinite for what is only shown."""

    quantity: str
    value: float
    tolerance: float = 0.0


class PublishedOpening(NamedTuple):
    """A published opening: its centre [m] and area [m2]; or, for the area, a circle that holds it.

    Then the area is None, and there are the radius [m] of the circle and its normal, sign and length left open.
    """

    centre_m: np.ndarray
    area_m2: float | None
    radius_m: float = np.nan
    normal: np.ndarray | None = None


@dataclass(frozen=True)
class DataFile:
    """A file and what is known of it."""

    file: str  # below the data folder, or in the archive
    options: Mapping[str, object]  # of its reader
    facts: tuple[Fact, ...]  # published numbers
    archive: str = ""  # the zip file below the data folder that holds it; empty if it lies there itself
    # function from the content of ``openings.json`` to the published openings; None if there are none
    openings: Callable[[Mapping], Sequence[PublishedOpening]] | None = None
    n_openings: int | None = None  # number of openings if no positions are published; None if unknown
    # ``"openings"``: a pressure difference between the largest one found and the others; ``"z openings"``: the same for
    # those across z, the other faces closed; ``"force"``: along z, in a box that repeats
    drive: str = "openings"
    is_symmetric: bool = False  # whether equal outlets must share the flow evenly

    @property
    def name(self) -> str:
        """File name without folders."""
        return self.file.rpartition("/")[2]


def enclosing_circles(content: Mapping) -> list[PublishedOpening]:
    """Openings of the closed surfaces of OpenLB."""
    return [
        PublishedOpening(np.array(record["centre"]), None, record["radius"], np.array(record[key], dtype=np.float64))
        for record in (*content["inlet"], *content["outlets"])
        for key in record
        if key.startswith("normal")
    ]


def rims_in_mm(content: Mapping) -> list[PublishedOpening]:
    """Open ends of the aorta of vmtk, from the mean radii of their rims."""
    return [
        PublishedOpening(1e-3 * np.array(record["centre"]), np.pi * (1e-3 * record["mean_radius"]) ** 2)
        for record in content["openings"]
    ]


def ends_of_pipe(content: Mapping) -> list[PublishedOpening]:
    """Both ends of the straight pipe of HemeLB."""
    area_m2 = np.pi * content["radius_m"] ** 2
    return [PublishedOpening(np.array(content[kind]["centre_m"]), area_m2) for kind in ("inlet", "outlet")]


def ends_of_y_in_sites(content: Mapping) -> list[PublishedOpening]:
    """Ends of the voxels of the Y in metres from the first site."""
    centres, radius = _y_in_sites(content)
    site_m = content["gmy"]["voxel_size_m"]
    return [PublishedOpening(centre * site_m, Y_AREA * (radius * site_m) ** 2) for centre in centres]


def ends_of_y_in_radii(content: Mapping) -> list[PublishedOpening]:
    """Ends of the surface of the Y, whose unit, its radius, is read as a millimetre; its inlet lies at z = -7 radii."""
    centres, radius = _y_in_sites(content)
    centres = 1e-3 * ((centres - centres[0]) / radius + (0.0, 0.0, -7.0))
    return [PublishedOpening(centre, Y_AREA * 1e-6) for centre in centres]


def _y_in_sites(content: Mapping) -> tuple[np.ndarray, float]:
    """((3, 3) centres of the ends, radius derived from the distance of the outlets), in sites."""
    gmy = content["gmy"]
    centres = np.array([gmy["inlet_centre_lattice"], *gmy["outlet_centres_lattice"]])
    return centres, float(np.linalg.norm(centres[1] - centres[2])) / Y_OUTLETS_APART


def _both_ends(
    x_m: float, y_m: float, z_m: tuple[float, float], area_m2: float
) -> Callable[[Mapping], list[PublishedOpening]]:
    """A function that returns the ends of a straight channel along z, derived from its dimensions."""
    return lambda _: [PublishedOpening(np.array([x_m, y_m, z]), area_m2) for z in z_m]


def _raw(shape_zyx: tuple[int, int, int], spacing_m: float) -> Mapping:
    layout = {"shape_zyx": list(shape_zyx), "dtype": "uint8", "header_bytes": 0, "fluid_value": 0}
    return MappingProxyType({**layout, "spacing_m": spacing_m})


def _surface_facts(triangles: int, loops: int, winding: int, volume_m3: float, digits: float) -> tuple[Fact, ...]:
    return (
        Fact(TRIANGLES, triangles),
        Fact(LOOPS, loops),
        Fact(WINDING, winding),
        Fact(PARTS, 1),
        Fact(VOLUME, volume_m3, digits),
    )


FINNEY_BOX = MappingProxyType({"radius": 1.0, "numbered": True, "low": [-8.0] * 3, "high": [8.0] * 3, "spacing_m": 0.1})

SURFACES = (
    DataFile(
        "aorta_openlb/aorta3d.stl",
        MappingProxyType({"unit": "mm", "spacing_m": 5e-4}),
        _surface_facts(2654, 0, 1, 30_260e-9, 2e-4),
        openings=enclosing_circles,
    ),
    DataFile(
        "aorta_vmtk/aorta-surface-open-ends.stl",
        MappingProxyType({"unit": "mm", "spacing_m": 4e-4}),
        _surface_facts(11_887, 3, -1, 12_452e-9, 1e-4),
        openings=rims_in_mm,
    ),
    DataFile(
        "bifurcation_openlb/bifurcation3d.stl",
        MappingProxyType({"unit": "m", "spacing_m": 5e-4}),
        _surface_facts(1582, 0, 1, 3.630e-5, 2e-4),
        openings=enclosing_circles,
    ),
    DataFile(
        "bifurcation_hemepure/bifurcation.stl",
        MappingProxyType({"unit": "mm", "spacing_m": float(Y_SPACING_M)}),
        _surface_facts(192, 3, -1, 56.9e-9, 1e-3),
        openings=ends_of_y_in_radii,
        is_symmetric=True,
    ),
)

VESSELS = (
    DataFile(
        "aorta_vmtk/aorta-levelset.mha",
        MappingProxyType({"fluid_below": 0.0}),
        (
            Fact(STORED_BELOW, 57_309),
            Fact(PARTS, 1),
            Fact(END_SLICES, 1.0, 1e-6),
            Fact(SURFACE_INSIDE, 1.0, 0.01),
            # Beside the vessel the values are 1.7e38, so that interpolation to cubes moves the wall inwards.
            Fact(NODE_VOLUME, 57_309 * 0.878906**2 * 1.50009e-9, np.inf),
        ),
    ),
    DataFile(
        "bifurcation_hemepure/bifurcation.gmy",
        MappingProxyType({"spacing_m": 6.667e-5}),
        (
            Fact(FLUID_VOXELS, 197_431),
            Fact(PARTS, 1),
            Fact(WALL_LINKS, 233_698),
            Fact(INLET_LINKS, 6132),
            Fact(OUTLET_LINKS, 11_936),
        ),
        openings=ends_of_y_in_sites,
        is_symmetric=True,
    ),
    DataFile(
        "pipe_hemelb/cyl_l100_r5.gmy",
        MappingProxyType({"spacing_m": 3.333e-7, "origin_m": [-5.16615e-06, -5.16615e-06, -5.016165e-05]}),
        (Fact(FLUID_VOXELS, 212_400), Fact(PARTS, 1)),
        openings=ends_of_pipe,
    ),
    DataFile(
        "blood_vessels/T0000000500.pvtu",
        MappingProxyType({"unit": "m"}),
        (Fact(FLUID_VOXELS, 39_353), Fact(PARTS, 1)),
        archive="vessel_voxels_vtk/blood_vessels.zip",
        n_openings=2,
    ),
)

ROCKS = (
    DataFile(
        "spheres_bcc_poremaps/bcc_100_100_100_phi0.3_vs_1e-05.raw",
        _raw((100, 100, 100), 1e-5),
        (Fact(POROSITY, 0.30031, 2e-5),),
        drive="force",
    ),
    DataFile(
        "channels_poremaps/ptube_54_54_50_vs_2e-05.raw",
        _raw((50, 54, 54), 2e-5),
        (Fact(POROSITY, 0.67764, 1e-5),),
        openings=_both_ends(53e-5, 53e-5, (-1e-5, 99e-5), np.pi * 50e-5**2),
    ),
    DataFile(
        "channels_poremaps/rect_channel_24_14_50_vs_5e-05.raw",
        _raw((50, 14, 24), 5e-5),
        (Fact(FLUID_VOXELS, 20 * 10 * 50),),
        openings=_both_ends(57.5e-5, 32.5e-5, (-2.5e-5, 247.5e-5), 100e-5 * 50e-5),
    ),
    DataFile(
        "ketton.tif",
        MappingProxyType({"fluid_value": 0, "spacing_m": 2e-6}),
        (
            Fact(POROSITY, 0.126862, 4e-6),
            Fact(THROUGH_X, 0.126226, 4e-6),
            Fact(THROUGH_Y, 0.126226, 4e-6),
            Fact(THROUGH_Z, 0.126226, 4e-6),
        ),
        archive="ketton/ketton.zip",
        drive="z openings",
    ),
    DataFile("finney_pack/FinneyPack.txt", FINNEY_BOX, (Fact(POROSITY, 0.3610, 1e-3),), drive="z openings"),
)

FILES = (*SURFACES, *VESSELS, *ROCKS)
