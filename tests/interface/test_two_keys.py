"""Two keys, options or flags for one thing mean one thing, or are refused by a message that names both."""

import copy

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.__main__ import main as geometry_command
from muphy_lb.geometry.source import read
from muphy_lb.setup.geometry import load_nodes
from muphy_lb.setup.numerics import resolve

INLET, OUTLET = {"name": "inlet", "velocity_m_s": 1e-3}, {"name": "outlet", "pressure_pa": 0.0}
PLACE = {"kind": "inlet", "centre_m": [4e-3, 4e-3, 0.0], "normal": [0, 0, 1]}
TABLE = {
    "geometry": {"shape": "pipe", "spacing_m": 1e-3, "options": {"length": 10, "radius": 4.0, "ends": "open"}},
    "openings": [INLET, OUTLET],
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
    "lattice": {"time_step_s": 0.05},
    "run": {"steps": 100},
}
WAVE = {"period_s": 1.0}
WALL = {"name": "w", "box_m": [[-1, -1, -1], [1, 1, 1]]}
LIQUID = {"liquid": [{"level_m": 1e-3}]}


def opening(**keys):
    return {"openings": [{key: v for key, v in (INLET | keys).items() if v is not None}, OUTLET]}


def changed(**sections) -> dict:
    """The tables with keys of sections changed; None removes one."""
    tables = copy.deepcopy(TABLE)
    for name, keys in sections.items():
        joined = tables.get(name, {}) | keys if isinstance(keys, dict) else keys
        tables[name] = {k: v for k, v in joined.items() if v is not None} if isinstance(joined, dict) else joined
    return tables


IN_THE_CASE = {
    "periodic, options": (changed(geometry={"periodic": "x", "options": {"periodic": "xy"}}), "options.periodic"),
    "spacing, options": (changed(geometry={"options": {"spacing_m": 2e-3}}), "spacing_m = 0.001 and options.spacing_m"),
    "unit, options": (changed(geometry={"unit": "mm", "options": {"unit": "cm"}}), "unit = 'mm' and options.unit"),
    "pressure, windkessel": (
        changed(**opening(velocity_m_s=None, pressure_pa=0.0, windkessel={"resistance_pa_s_m3": 1e9})),
        "pressure_pa and windkessel",
    ),
    "windkessel, waveform": (
        changed(**opening(velocity_m_s=None, windkessel={"resistance_pa_s_m3": 1e9}, waveform=WAVE)),
        "a waveform and windkessel",
    ),
    "steady time": (changed(run={"steady_time_s": 1.0}), "steady_time_s but no steady_tolerance"),
    "waveform, force": (changed(flow={"waveform": WAVE}), "waveform but no acceleration_m_s2"),
    "pressure, density": (changed(initial={"pressure_pa": 1.0, "density_kg_m3": 1.0}), "pressure_pa and density_kg_m3"),
    "pressure computed": (
        changed(initial={"pressure_pa": 1.0, "consistent_pressure": True}),
        "consistent_pressure and pressure_pa",
    ),
    "film, frames": (changed(output={"film": True}), "film = true and no frames_every_steps"),
    "fields, vtk": (changed(output={"fields_every_steps": 9, "vtk": False}), "fields_every_steps = 9 and vtk = false"),
    "region, vtk": (
        changed(output={"region_m": [[0, 0, 0], [1, 1, 1]], "vtk": False}),
        "region_m = [[0, 0, 0], [1, 1, 1]] and vtk = false",
    ),
    "format, picture": (
        changed(output={"picture": False, "picture_format": "pdf"}),
        'picture_format = "pdf" and picture = false',
    ),
    "surface, vtk": (
        changed(free_surface=LIQUID | {"surface_every_steps": 5}, output={"vtk": False}),
        "free_surface.surface_every_steps = 5 and output.vtk = false",
    ),
    "region twice": (
        changed(
            output={"wall_shear": True},
            wall_regions=[{"name": "a", "box_m": [[0, 0, 0], [1, 1, 1]], "axis_m": [[0, 0, 0], [1, 1, 1]]}],
        ),
        "box_m and axis_m",
    ),
    "probe twice": (changed(probes=[{"name": "a", "point_m": [0, 0, 0], "plane_m": [0, 0, 0]}]), "point_m and plane_m"),
    "expansions": (
        changed(thermal={"reference_k": 300.0, "prandtl": 1.0, "expansion_1_k": 0.0, "rayleigh": 1e3, "length_m": 1.0}),
        "expansion_1_k and rayleigh",
    ),
    "porous": (
        changed(porous_medium=[{"name": "clot", "permeability_m2": 1e-9, "label": 2, "box_m": [[0, 0, 0], [1, 1, 1]]}]),
        "box_m and label",
    ),
    "courses": (
        changed(species=[{"name": "a", "schmidt": 1.0, "bolus": {}, "waveform": {"period_s": 1.0}}]),
        "waveform and bolus",
    ),
    "bolus twice": (
        changed(species=[{"name": "a", "schmidt": 1.0, "bolus": {"file": "a.csv", "length_s": 1.0}}]),
        "file and start_s or length_s",
    ),
    "held and brought": (
        changed(openings=[{"name": "inlet", "velocity_m_s": 1.0, "species": {"a": 1.0}, "species_inflow": {"a": 1.0}}]),
        "species and species_inflow",
    ),
    "particles twice": (
        changed(particles=[{"name": "p", "kind": "tracers", "count": 5, "positions_m": [[0, 0, 0]]}]),
        "count and positions_m",
    ),
}
"""Pairs that the tables alone contradict, each with words of the message."""


@pytest.mark.parametrize("pair", IN_THE_CASE)
def test_a_case_that_says_two_things_is_refused_with_both(pair):
    tables, words = IN_THE_CASE[pair]
    with pytest.raises(InputError) as told:
        case_from_dict(tables)
    assert words in str(told.value)


IMAGE = {"shape": None, "file": "im.npy", "spacing_m": 1e-3}
WITH_THE_GEOMETRY = {
    "periodic, openings": (changed(geometry={"periodic": "z"}), "periodic has z, and the inlet lies across z"),
    "periodic, opening of the case": (
        changed(geometry=IMAGE | {"periodic": ["z"], "options": {}}, **opening(**PLACE)),
        "it comes in from the other side, as the box is periodic along z",
    ),
    "periodic, reservoir": (
        changed(geometry=IMAGE | {"periodic": "x", "options": {"reservoir_layers": 2}}),
        "periodic has x, and the inlet lies across x",
    ),
    "periodic, crop of a packing": (
        changed(
            geometry={"shape": "sphere_array", "periodic": "x", "options": {"size": 8, "crop": [[0, 0, 0], [4, 8, 8]]}},
            openings=[],
        ),
        "periodic has x, along which what is drawn repeats with the whole box, and crop",
    ),
    "opening named twice": (changed(**opening(**PLACE)), "opening name 'inlet' is used 2 times"),
    "walls in one box": (changed(walls=[WALL, WALL | {"name": "v"}]), "solid voxels of the walls w stay theirs"),
}
"""Pairs of which one lies in the geometry or in the numbers."""


@pytest.fixture
def folder(tmp_path):
    """A folder with an image of a square duct along z."""
    image = np.ones((10, 8, 8), np.uint8)
    image[:, 2:6, 2:6] = 0
    np.save(tmp_path / "im.npy", 1 - image)
    return tmp_path


@pytest.mark.parametrize("pair", WITH_THE_GEOMETRY)
def test_a_case_that_contradicts_its_geometry_is_refused_with_both(pair, folder):
    tables, words = WITH_THE_GEOMETRY[pair]
    case = case_from_dict(tables, folder)
    with pytest.raises(InputError) as told:
        load_nodes(case)
        resolve(case)
    assert words in str(told.value)


@pytest.mark.parametrize("axes", [["x", "y", "z"], "xyz", "x, y,z", [True, True, True]])
@pytest.mark.parametrize("as_option", [False, True])
def test_spheres_of_a_list_go_on_where_the_case_repeats(axes, as_option, tmp_path):
    """A body-centred cell from its two spheres is that of the shape, however periodicity is written."""
    (tmp_path / "cell.xyz").write_text("0.25 0.25 0.25\n0.75 0.75 0.75\n")
    radius = (0.3 * 3.0 / (8.0 * np.pi)) ** (1.0 / 3.0)
    options = {"radius": radius, "low": [0, 0, 0], "high": [1, 1, 1]}
    geometry = {"shape": None, "file": "cell.xyz", "spacing_m": 1 / 16, "options": options}
    geometry |= {"options": options | {"periodic": axes}} if as_option else {"periodic": axes}
    nodes, _ = load_nodes(case_from_dict(changed(geometry=geometry, openings=[]), tmp_path))
    cell = read("sphere_array", spacing_m=1 / 16, size=16, lattice="body", solid_fraction=0.3)
    assert nodes.periodic == (True, True, True)
    assert nodes.n_nodes == cell.voxels.n_fluid
    in_memory = read(tmp_path / "cell.xyz", spacing_m=1 / 16, periodic="xyz", **options)
    assert in_memory.voxels.n_fluid == nodes.n_nodes


def test_an_axis_that_is_named_and_leads_nowhere_is_told(folder, caplog):
    case = case_from_dict(changed(geometry=IMAGE | {"periodic": "xz", "options": {}}, openings=[]), folder)
    nodes, _ = load_nodes(case)
    assert nodes.periodic == (True, False, True)
    assert "the box repeats along x (periodic), and the layer of voxels" in caplog.text
    assert "repeats along z" not in caplog.text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--spacing-m", "1 mm", "--shape-option", "spacing_m=2e-3"], "--shape-option spacing_m is given already"),
        (
            ["--spacing-m", "1e-3", "--periodic", "z", "--shape-option", "ends='open'"],
            "periodic has z, and the inlet lies across z",
        ),
        (["--periodic", "q"], "periodic is 'q'; give letters out of \"xyz\""),
    ],
)
def test_flags_that_contradict_each_other_are_refused(words, told, tmp_path, capsys):
    assert geometry_command(["shape:pipe", str(tmp_path / "a.h5"), *words]) == 2
    assert told in capsys.readouterr().err


def test_a_surface_cannot_repeat(tmp_path):
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    triangles = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    with pytest.raises(InputError, match="periodic is 'x' and the input is a surface"):
        _ = read((points, triangles), spacing_m=0.1, periodic="x").voxels
