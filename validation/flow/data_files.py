"""Every geometry file of ``$MUPHY_DATA``: read, diagnosed, its openings found, and run between them.

Sources: the README of the data folder, which counted and measured each file by itself, and the ``openings.json`` beside
some of them. Its radii of the two closed surfaces are those of circles about the caps, up to 26 % larger than these.

The work flow of a user is automated: the file is inspected, the detected openings are inserted into a case, and a slow
flow is driven by a pressure difference between the largest opening and the others, or by a body force if periodic.
"""

import json
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from muphy_lb.base.errors import MuphyError
from muphy_lb.base.units import CS2, relaxation_time
from muphy_lb.case.case import Case, case_from_dict
from muphy_lb.geometry.clean import component_labels
from muphy_lb.geometry.gmy import INLET_LINK_TYPE, OUTLET_LINK_TYPE, WALL_LINK_TYPE, read_sites
from muphy_lb.geometry.images.metaimage import read_metaimage
from muphy_lb.geometry.inspection import Inspection, inspect_input
from muphy_lb.geometry.load import load_voxels
from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.openings.carve import carve, flags_at
from muphy_lb.geometry.openings.find import FoundOpening, openings_of_voxels, openings_toml
from muphy_lb.geometry.porous.pores import Pores, find_pores
from muphy_lb.geometry.porous.preparation import porosity
from muphy_lb.geometry.surfaces.surface import Surface, SurfaceReport, diagnose, read_surface
from muphy_lb.geometry.voxels import FLUID
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver
from muphy_lb.setup.geometry import load_nodes
from muphy_lb.validation.case import Failure, Row, Settings, Skipped, absolute, case, data_folder, relative, shown
from muphy_lb.validation.flows import settle

TRIANGLES, LOOPS, WINDING, PARTS = "triangles", "boundary loops", "winding, 1 outward, -1 inward", "connected parts"
VOLUME, NODE_VOLUME = "volume, ends closed [m3]", "volume of the nodes [m3]"
FLUID_VOXELS, POROSITY = "fluid voxels", "porosity"
WALL_LINKS, INLET_LINKS, OUTLET_LINKS = "wall links", "inlet links", "outlet links"
THROUGH = tuple(f"porosity leading through along {axis}" for axis in "xyz")
STORED_BELOW, END_SLICES = "voxels below 0 in the file", "opening area / pixels of the end slices"
SURFACE_INSIDE = "fluid share of the surface's inside"
Y_SIDES = 32
Y_AREA = 0.5 * Y_SIDES * np.sin(2.0 * np.pi / Y_SIDES)  # of its polygonal tubes, in radii squared
Y_OUTLETS_APART = 6.0 * np.sqrt(2.0)  # in radii


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
    normal: np.ndarray | Any = None


@dataclass(frozen=True)
class DataFile:
    """A file and what is known of it."""

    file: str  # below the data folder, or in the archive
    options: Mapping[str, Any]  # of its reader
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


def _data_file(record: Mapping) -> DataFile:
    keys = dict(record)
    ends = keys.pop("ends", None)
    openings = globals()[keys.pop("openings")] if "openings" in keys else None
    if ends:  # of a straight channel along z
        centres = [np.array([ends["x_m"], ends["y_m"], z]) for z in ends["z_m"]]
        openings = partial(lambda both, _: both, [PublishedOpening(centre, ends["area_m2"]) for centre in centres])
    facts = tuple(Fact(*fact) for fact in keys.pop("facts"))
    return DataFile(facts=facts, openings=openings, options=MappingProxyType(keys.pop("options")), **keys)


_RECORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SURFACES, VESSELS, ROCKS = (tuple(map(_data_file, _RECORDS[kind])) for kind in ("surfaces", "vessels", "rocks"))
FILES = (*SURFACES, *VESSELS, *ROCKS)


AREA = 0.03
NODES = 0.01  # of a surface: what voxels of that size make of its volume
CENTRE = 1.0  # voxels
FLOW, EVEN = 0.02, 0.01
NU = 0.05  # so low because pressure spreads through a tight rock the slower, the more viscous the fluid
PRESSURE = 1e-3  # rho c^2 in lattice units
FORCE, DENSITY_KG_M3, VISCOSITY_M2_S = 1e-6, 1000.0, 1e-6
STEADY, INTERVAL, MAX_STEPS = 1e-4, 500, 200_000
#: A triangle belongs to a published cap if its vertices are so near to the plane, as a part of the radius, and its
#: normal's cosine with the published one is at least so large: the published planes lie up to 2 % of a radius off.
IN_PLANE, ALIGNED = 0.05, 0.99


@dataclass(frozen=True)
class Reading:
    """An inspected file and the case made from it."""

    item: DataFile  # the file and its published data
    path: Path  # path of the file
    seen: Inspection  # the result of the inspection
    settings: Settings  # backend and precision

    @cached_property
    def driven(self) -> tuple[FoundOpening, ...]:
        """The openings that the flow goes through."""
        if self.item.drive == "z openings":
            return tuple(found for found in self.seen.found if abs(found.opening.normal[2]) == 1.0)
        return self.seen.found if self.item.drive == "openings" else ()

    @cached_property
    def case(self) -> Case:
        """The case, with the openings as reported to the user."""
        options = dict(self.item.options)
        keys = {key: options.pop(key) for key in ("unit", "spacing_m") if key in options}
        periodic = ["x", "y", "z"] if self.item.drive == "force" else []
        step_s = NU * self.spacing_m**2 / VISCOSITY_M2_S
        pascal = DENSITY_KG_M3 * (self.spacing_m / step_s) ** 2
        openings = opening_tables(self.driven)
        openings = [table | {"pressure_pa": 0.0 if k else PRESSURE * pascal} for k, table in enumerate(openings)]
        table = {
            "geometry": {"file": str(self.path.resolve()), **keys, "periodic": periodic, "options": options},
            "openings": openings,
            "fluid": {"density_kg_m3": DENSITY_KG_M3, "kinematic_viscosity_m2_s": VISCOSITY_M2_S},
            "lattice": {"collision": "trt", "relaxation_time": relaxation_time(NU, CS2)},
            "compute": self.settings.compute_table(),
            "run": {"steps": MAX_STEPS},
        }
        if self.item.drive == "force":
            table["flow"] = {"acceleration_m_s2": [0.0, 0.0, FORCE * self.spacing_m / step_s**2]}
        return case_from_dict(table)

    @property
    def content(self) -> Any:
        """The repaired surface, or the voxels."""
        return self.seen.content

    @cached_property
    def nodes(self) -> NodeList:
        """The nodes on which a simulation of the case runs."""
        return load_nodes(self.case)[0]

    @cached_property
    def report(self) -> SurfaceReport:
        """Diagnosis of the surface before any repair."""
        return diagnose(read_surface(self.path, self.item.options["unit"]))

    @cached_property
    def pores(self) -> Pores:
        """The pores of a voxel image, with face connectivity."""
        return find_pores(self.content, "faces")

    @property
    def spacing_m(self) -> float:
        """Voxel edge [m]."""
        content = self.content
        return self.item.options["spacing_m"] if isinstance(content, Surface) else content.spacing_m


@case(
    "data",
    "README and openings.json of the data folder; caps of the closed surfaces: area of the polygon that the mesh has in"
    " the published plane, as the published circles hold the caps and are larger",
)
def data_files(settings: Settings) -> Iterator:
    """Every file of the data folder: what is found in it, and a flow between its openings; quick without the flows."""
    folder = data_folder()
    for item in FILES:
        try:
            data_folder(item.archive or item.file)
        except Skipped as missing:
            yield str(missing)
            continue
        try:
            yield from rows_of(item, folder, settings)  # those before an error stay
        except MuphyError as error:
            yield Failure(f"{item.name}: {error}")
    if settings.quick:
        yield "the flows, which --quick leaves out"


def rows_of(item: DataFile, folder: Path, settings: Settings) -> Iterator[Row]:
    """The findings in one file, and, unless quick, of its flow; raises what reading and running raise."""
    with TemporaryDirectory() as unpacked:
        path = Path(folder, item.file)
        if item.archive:
            with zipfile.ZipFile(folder / item.archive) as archive:
                archive.extractall(unpacked)
            path = Path(unpacked, item.file)
        reading = Reading(item, path, inspect_input(path, **item.options), settings)
        yield from _rows_found(reading, (folder / (item.archive or item.file)).parent)
        if not settings.quick:
            yield from flow_rows(reading)


def cap_area(surface: Surface, given: PublishedOpening) -> float:
    """Area [m2] of the polygon in which a surface lies in the plane of a published opening.

    Only its rim counts: edges of one of the triangles there, each with the centre a triangle of the polygon.
    """
    normal = given.normal / np.linalg.norm(given.normal)
    from_centre = surface.points_m - given.centre_m
    corners = from_centre[surface.triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    near = np.linalg.norm(corners, axis=2).max(axis=1) < 1.1 * given.radius_m
    near &= np.abs(corners @ normal).max(axis=1) < IN_PLANE * given.radius_m
    chosen = surface.triangles[near & (np.abs(across @ normal) > ALIGNED * np.linalg.norm(across, axis=1))]
    sides = np.concatenate([chosen[:, [0, 1]], chosen[:, [1, 2]], chosen[:, [2, 0]]])
    _, first, uses = np.unique(np.sort(sides, axis=1), axis=0, return_index=True, return_counts=True)
    start, end = from_centre[sides[first[uses == 1]].T]
    return abs(float((np.cross(start, end) @ normal).sum())) / 2.0


def flow_rows(reading: Reading) -> Iterator[Row]:
    """A steady slow flow: what enters leaves, and equal outlets share it evenly; raises DivergedError."""
    simulation = Solver(reading.case, SerialCommunicator(), reading.nodes)
    closed = not reading.driven

    def measure() -> np.ndarray:
        """Volume flow [m3/s] into the fluid at each opening, the inlet first; or sum of velocities in each plane."""
        if closed:
            layer = np.rint(simulation.nodes.coordinates()[:, 2]).astype(np.int64)
            return np.bincount(layer, simulation.velocity_m_s()[:, 2])
        states = simulation.openings().values()
        return np.array([s.flow_rate_m3_s if s.kind == "inlet" else -s.flow_rate_m3_s for s in states])

    flows = settle(simulation, measure, INTERVAL, STEADY, MAX_STEPS)
    simulation.health()
    name = reading.item.name
    if closed:
        yield relative(f"{name}: least / largest flow through a plane", 1.0, flows.min() / flows.max(), FLOW)
        return
    inflow, *outflows = flows
    yield relative(f"{name}: flow out of {len(outflows)} / flow in", 1.0, -sum(outflows) / inflow, FLOW)
    if reading.item.is_symmetric:
        yield relative(f"{name}: flow out of one / of the other", 1.0, outflows[0] / outflows[1], EVEN)


def opening_tables(found: Sequence[FoundOpening]) -> list[dict]:
    """The tables ``[[openings]]`` that are proposed for found openings, without conditions; the widest first."""
    tables = tomllib.loads(openings_toml(found)).get("openings", [])
    conditions = ("velocity_m_s", "pressure_pa")
    return [{key: value for key, value in table.items() if key not in conditions} for table in tables]


def _rows_found(reading: Reading, folder: Path) -> Iterator[Row]:
    """Facts; nodes of the case: as many as fit into the published volume of a surface, or of voxels, those that the
    openings reach; and openings, listed in a folder."""
    item, content, found = reading.item, reading.content, reading.seen.found
    for fact in item.facts:
        compare = relative if fact.tolerance else absolute
        yield compare(f"{item.name}: {fact.quantity}", fact.value, MEASURES[fact.quantity](reading), fact.tolerance)
    if isinstance(content, Surface):
        volume_m3 = next(fact.value for fact in item.facts if fact.quantity == VOLUME)
        expected = volume_m3 / reading.spacing_m**3
        yield relative(f"{item.name}: nodes, from its volume", expected, reading.nodes.n_nodes, NODES)
    else:
        yield shown(f"{item.name}: nodes, of its fluid voxels", content.n_fluid, reading.nodes.n_nodes)
    listed, n_openings = folder / "openings.json", item.n_openings
    given_openings: Sequence[PublishedOpening] = ()
    if item.openings is not None:
        given_openings = item.openings(json.loads(listed.read_text()) if listed.is_file() else {})
        n_openings = len(given_openings)
    if n_openings is not None:
        yield absolute(f"{item.name}: openings found", n_openings, len(found), 0.0)
    if not found or not given_openings:
        return
    cut_areas = _cut_areas(reading)
    centres_m = np.array([each.opening.centre_m for each in found])
    nearest = [int(np.argmin(np.linalg.norm(centres_m - given.centre_m, axis=1))) for given in given_openings]
    for k, given in sorted(zip(nearest, given_openings, strict=True), key=lambda pair: pair[0]):
        yield from _rows_of_opening(reading, found[k], given, cut_areas[k])


def _rows_of_opening(
    reading: Reading, found: FoundOpening, given: PublishedOpening, cut_area_m2: float
) -> Iterator[Row]:
    title = f"{reading.item.name}: {found.opening.name}"
    off_m = np.linalg.norm(found.opening.centre_m - given.centre_m)
    yield absolute(f"{title}, centre off [voxels]", 0.0, float(off_m) / reading.spacing_m, CENTRE)
    area_m2 = given.area_m2
    if area_m2 is None:
        area_m2 = cap_area(reading.content, given)
        yield shown(f"{title}, published circle [m2]", np.pi * given.radius_m**2, found.area_m2)
    yield relative(f"{title}, area [m2]", area_m2, found.area_m2, AREA)
    if isinstance(reading.content, Surface):
        yield relative(f"{title}, area in voxels [m2]", area_m2, cut_area_m2, AREA)


def _cut_areas(reading: Reading) -> list[float]:
    """Area [m2] of each opening as the voxels have it that a surface is cut into."""
    found = reading.seen.found
    if not isinstance(reading.content, Surface):
        return [item.area_m2 for item in found]
    carved = carve(load_voxels(reading.path, **reading.item.options), [item.opening for item in found])
    return [item.area_m2 for item in openings_of_voxels(carved)]


def _n_parts(reading: Reading) -> float:
    """Parts of a surface, or of the fluid of voxels, connected by faces."""
    content = reading.content
    return reading.report.n_parts if isinstance(content, Surface) else component_labels(build_nodes(content)).max() + 1


def _links(kind: int) -> Callable[[Reading], float]:
    return lambda reading: int(np.count_nonzero(read_sites(reading.path)[1].kind == kind))


def _leading_through(axis: str) -> Callable[[Reading], float]:
    return lambda reading: reading.pores.share(axis) * porosity(reading.content)


def _stored_below(reading: Reading) -> np.ndarray:
    """Truth of the voxels of a level set as the file has them, before they become cubes."""
    return np.asarray(read_metaimage(reading.path).values) < 0.0


def _share_of_end_slices(reading: Reading) -> float:
    pixels = np.count_nonzero(_stored_below(reading)[[0, -1]])
    return sum(found.area_m2 for found in reading.seen.found) / (pixels * reading.spacing_m**2)


def _share_of_surface(reading: Reading) -> float:
    """How much of the inside of the surface that was made from an image is fluid; their x and y point opposite ways."""
    surface = next(item for item in SURFACES if Path(item.file).parent == Path(reading.item.file).parent)
    inside = load_voxels(reading.path.parent / surface.name, **surface.options)
    points_m = np.argwhere(inside.flags == FLUID)[:, ::-1] * inside.spacing_m + inside.origin_m
    image = reading.content
    nearest = np.rint((points_m * (-1.0, -1.0, 1.0) - image.origin_m) / image.spacing_m).astype(np.int64)
    return float(np.mean(flags_at(image, nearest[:, ::-1]) == FLUID))


#: How what is published is measured.
MEASURES: Mapping[str, Callable[[Reading], float]] = {
    TRIANGLES: lambda reading: reading.report.n_triangles,
    LOOPS: lambda reading: len(reading.report.loop_centres),
    WINDING: lambda reading: {"outward": 1, "inward": -1}.get(reading.report.winding, 0),
    PARTS: _n_parts,
    VOLUME: lambda reading: diagnose(reading.content).volume_m3,
    NODE_VOLUME: lambda reading: reading.nodes.n_nodes * reading.spacing_m**3,
    FLUID_VOXELS: lambda reading: reading.content.n_fluid,
    POROSITY: lambda reading: porosity(reading.content),
    WALL_LINKS: _links(WALL_LINK_TYPE),
    INLET_LINKS: _links(INLET_LINK_TYPE),
    OUTLET_LINKS: _links(OUTLET_LINK_TYPE),
    **{through: _leading_through(axis) for through, axis in zip(THROUGH, "xyz", strict=True)},
    STORED_BELOW: lambda reading: int(np.count_nonzero(_stored_below(reading))),
    END_SLICES: _share_of_end_slices,
    SURFACE_INSIDE: _share_of_surface,
}
