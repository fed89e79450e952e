"""Geometries in memory: arrays, surfaces and shapes are what the files of the same would be."""

import meshio
import numpy as np
import pytest

import muphy_lb
from muphy_lb import InputError, Simulation, geometry
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.run.solver import Solver
from muphy_lb.setup.geometry import load_nodes
from tests.channel import OPEN, PERIODIC, changed

BOX = {
    "geometry": {"spacing_m": 1e-3, "periodic": ["x", "y", "z"]},
    "walls": [],
    "flow": {"acceleration_m_s2": [1e-3, 0.0, 0.0]},
    "lattice": {"name": "D3Q19", "time_step_s": 1e-2},
}
CORNERS = np.array([(x, y, z) for z in (0.0, 4.0) for y in (0.0, 5.0) for x in (0.0, 6.0)])
QUADS = np.array([(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)])
TRIANGLES = np.concatenate((QUADS[:, [0, 1, 2]], QUADS[:, [0, 2, 3]]))


@pytest.fixture
def rock():
    """A box of 4 x 5 x 6 voxels with a solid block of 2 x 2 x 2, which a value above 1 marks."""
    values = np.zeros((4, 5, 6), dtype=np.uint8)
    values[1:3, 1:3, 1:3] = 7
    return values


def table(**keys):
    """The tables of a periodic box."""
    tables = changed(PERIODIC, **{name: value for name, value in BOX.items() if name != "geometry"})
    return tables | {"geometry": BOX["geometry"] | keys}


def test_zero_is_fluid_and_all_else_is_solid(rock):
    with Simulation(table(), geometry=rock) as simulation:
        assert simulation.n_nodes == 4 * 5 * 6 - 8
        assert np.array_equal(np.isnan(simulation.array("pressure")), rock > 0)


@pytest.mark.parametrize(("mask", "said"), [(lambda rock: rock > 0, False), (lambda rock: rock == 0, True)])
def test_truth_values_are_fluid_where_it_is_said(rock, mask, said):
    with Simulation(table(), geometry=mask(rock), fluid_value=said) as simulation:
        assert np.array_equal(np.isnan(simulation.array("pressure")), rock > 0)
    read = geometry.read(mask(rock), spacing_m=1e-3, fluid_value=said)
    with Simulation(table(options={"mirror": "x"}), geometry=read) as simulation:
        assert simulation.n_nodes == 2 * (4 * 5 * 6 - 8)


def test_truth_values_of_which_nothing_is_said_are_refused(rock):
    words = r"fluid_value=True \(porosity 0.06667\) or fluid_value=False \(porosity 0.9333\)"
    for ask in (lambda: Simulation(table(), geometry=rock > 0), lambda: geometry.read(rock > 0, spacing_m=1e-3)):
        with pytest.raises(InputError, match=words):
            ask()
    assert geometry.read(rock > 0, spacing_m=1e-3, fluid_below=0.5).fluid.sum() == 4 * 5 * 6 - 8


def test_the_value_of_the_fluid_goes_beside_the_geometry(rock):
    with Simulation(table(), geometry=rock, fluid_value=7) as simulation:
        assert simulation.n_nodes == 8


def test_an_array_is_what_its_file_is(rock, tmp_path):
    np.save(tmp_path / "rock.npy", rock)
    keys = BOX["geometry"] | {"file": "rock.npy", "options": {"fluid_value": 0, "mirror": "x"}}
    on_file = Solver(case_from_dict(table() | {"geometry": keys}, tmp_path))
    with Simulation(table(options={"mirror": "x"}), geometry=rock) as simulation:
        assert simulation.core.geometry.voxel_digest == on_file.geometry.voxel_digest


def test_a_plane_array_makes_a_plane_flow():
    tables = changed(PERIODIC, walls=[]) | {"geometry": {"spacing_m": 1e-3, "periodic": ["x", "z"]}}
    with Simulation(tables, geometry=np.pad(np.zeros((6, 8), int), ((1, 1), (0, 0)), constant_values=1)) as simulation:
        assert simulation.nodes.shape == (1, 8, 8)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((3, 3, 3)), "type float64; allowed: integers, 0 .* or Booleans.*image > 0.5"),
        (np.zeros((2, 3, 4, 5), int), r"shape \(2, 3, 4, 5\); allowed: \(nz, ny, nx\)"),
        (np.zeros((0, 3), int), "one voxel or more"),
        (np.zeros((3, 3), object), "type object"),
    ],
)
def test_an_array_that_does_not_fit_is_one_clear_error(array, words):
    with pytest.raises(InputError, match=words):
        Simulation(table(), geometry=array)


def test_grey_values_need_a_threshold():
    grey = np.linspace(0.0, 1.0, 60).reshape(3, 4, 5)
    assert geometry.read(grey, spacing_m=1e-3, fluid_below=0.5).voxels.n_fluid == 30


def test_a_missing_voxel_edge_is_told(rock):
    without = table() | {"geometry": {"periodic": ["x", "y", "z"]}}
    with pytest.raises(InputError, match="geometry.spacing_m is missing: an array does not contain its voxel edge"):
        Simulation(without, geometry=rock)
    with Simulation(without, geometry=rock, spacing_m=2e-3) as simulation:
        assert simulation.units.spacing_m == 2e-3


def surfaces():
    """One box as everything that may hold a surface."""
    yield "pair", (CORNERS, TRIANGLES)
    yield "meshio", meshio.Mesh(CORNERS, [("quad", QUADS)])
    pyvista = pytest.importorskip("pyvista")
    yield "pyvista", pyvista.PolyData(CORNERS, np.insert(QUADS, 0, 4, axis=1).ravel())


def test_surfaces_of_all_libraries_are_what_their_file_is(tmp_path):
    meshio.Mesh(CORNERS, [("triangle", TRIANGLES)]).write(tmp_path / "box.ply")
    on_file = geometry.voxelise(tmp_path / "box.ply", 1e-3, unit="mm").voxels.flags
    for name, surface in surfaces():
        found = geometry.voxelise(surface, 1e-3, unit="mm").voxels
        assert found.n_fluid == 6 * 5 * 4, name
        assert np.array_equal(found.flags, on_file), name


def test_a_surface_is_saved_as_it_was(tmp_path):
    tables = changed(PERIODIC, walls=[], lattice={"name": "D3Q19", "walls": "bouzidi"})
    tables |= {"geometry": {"spacing_m": 1e-3, "unit": "mm"}, "flow": {"acceleration_m_s2": [1e-3, 0.0, 0.0]}}
    with Simulation(tables, geometry=(CORNERS, TRIANGLES)) as simulation:
        simulation.step(3)
        simulation.save(tmp_path / "saved")
        with Simulation.load(tmp_path / "saved") as loaded:
            loaded.step(2)
            simulation.step(2)
            assert np.array_equal(loaded.core.engine.populations(), simulation.core.engine.populations())


def test_a_shape_goes_by_its_name():
    with Simulation(table(options={"length": 4, "side": 3}), geometry="square_duct") as simulation:
        assert simulation.n_nodes == 4 * 3 * 3


def test_another_geometry_takes_the_place_of_that_of_a_case(rock):
    case = case_from_dict(changed(PERIODIC, walls=[], lattice={"name": "D3Q19"}, geometry={"periodic": ["x"]}))
    with Simulation(case, geometry=rock) as simulation:
        assert simulation.case.geometry.shape is None and simulation.case.geometry.periodic == ("x",)


@pytest.mark.parametrize("source", ["pype", "flow.xyzzy", 3.5, (CORNERS, TRIANGLES[:, :2]), (CORNERS, TRIANGLES + 9)])
def test_what_is_no_geometry_is_refused(source):
    with pytest.raises(InputError):
        Simulation(table(), geometry=source)


def test_openings_are_found_drawn_and_go_by_the_names_of_the_input():
    pipe = geometry.read("pipe", spacing_m=1e-3, radius=3.0, length=8, ends="open")
    found = pipe.find_openings()
    assert [item.opening.kind for item in found] == ["inlet", "outlet"] and "inlet" in repr(found)
    assert len(pipe.preview().axes) == 3
    assert found.tables(outlet={"pressure_pa": 5.0}) == [{"name": "inlet"}, {"name": "outlet", "pressure_pa": 5.0}]


def test_openings_that_were_found_are_those_of_a_case():
    duct = geometry.read((CORNERS * (1.0, 1.0, 10.0), TRIANGLES), unit="mm", spacing_m=1e-3)
    ends = duct.find_openings()
    inlet, outlet = (item.opening for item in ends)
    tables = ends.tables(inlet={"velocity_m_s": 0.01})
    assert tables[1] == {
        "name": outlet.name,
        "kind": "outlet",
        "centre_m": list(outlet.centre_m),
        "normal": list(outlet.normal),
        "radius_m": outlet.radius_m,
        "pressure_pa": 0.0,
    }
    assert tables[0]["velocity_m_s"] == 0.01 and "pressure_pa" not in tables[0]
    case = changed(OPEN, openings=tables, walls=[], lattice={"name": "D3Q19"}) | {"geometry": {}}
    with Simulation(case, geometry=duct) as simulation:
        assert simulation.openings[inlet.name].area_m2 == pytest.approx(ends[0].area_m2)
    with pytest.raises(InputError, match=f"no opening is named 'in'; found: {inlet.name}"):
        ends.tables(**{"in": {}})


def test_what_the_package_offers_is_listed():
    assert set(geometry.__all__) <= set(dir(geometry))


def test_only_surfaces_are_voxelised(rock):
    with pytest.raises(GeometryError, match="is not a surface"):
        geometry.voxelise(rock, 1e-3)


def test_content_is_loaded_as_its_case_says(rock):
    source = geometry.read(rock, spacing_m=1e-3)
    nodes, _ = load_nodes(case_from_dict(table(**source.table)), source.content)
    assert nodes.n_nodes == 4 * 5 * 6 - 8


def test_the_names_that_users_import_are_few():
    assert muphy_lb.__all__ == ["Case", "DivergedError", "InputError", "Simulation", "Study", "geometry", "partition"]
    assert all(getattr(muphy_lb, name) is not None for name in muphy_lb.__all__)
