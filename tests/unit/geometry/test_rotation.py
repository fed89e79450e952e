"""Rotated surfaces and images, with the openings that a case cuts into them."""

import meshio
import numpy as np
import pytest

from muphy_lb import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.load import load_content
from muphy_lb.geometry.rotation import Rotation
from muphy_lb.geometry.voxels import FLUID
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver
from muphy_lb.setup.geometry import input_surface, load_nodes
from tests.unit.geometry import surfaces

RADIUS_M, LENGTH_M = 5e-3, 3e-2
TUBE = surfaces.tube(RADIUS_M, LENGTH_M, n_sides=64)
FLOW_M3_S, VISCOSITY_M2_S, DENSITY_KG_M3 = 5e-8, 4e-6, 1000.0


def bent_duct() -> np.ndarray:
    """An image of which no rotation or reflection is itself."""
    solid = np.ones((12, 14, 16), np.uint8)
    solid[2:5, 2:6, 2:14] = 0
    solid[2:10, 2:6, 2:4] = 0
    solid[7:10, 2:12, 2:4] = 0
    return solid


def of_tube(folder=".", **options):
    """A case of the tube with openings cut into it, half a radius before its ends."""
    places = {"inlet": (0.5 * RADIUS_M, 1.0), "outlet": (LENGTH_M - 0.5 * RADIUS_M, -1.0)}
    openings = [
        {"name": name, "kind": name, "centre_m": [0.0, 0.0, z], "normal": [0.0, 0.0, n], "radius_m": 1.2 * RADIUS_M}
        for name, (z, n) in places.items()
    ]
    openings[0] |= {"flow_rate_m3_s": FLOW_M3_S, "profile": "parabolic"}
    openings[1] |= {"pressure_pa": 0.0}
    return case_from_dict(
        {
            "geometry": {"file": "tube.stl", "unit": "m", "spacing_m": 1e-3, "options": options},
            "openings": openings,
            "fluid": {"density_kg_m3": DENSITY_KG_M3, "kinematic_viscosity_m2_s": VISCOSITY_M2_S},
            "lattice": {"collision": "trt", "relaxation_time": 0.9, "walls": "bouzidi"},
            "compute": {"precision": "fp64", "backend": "cpu"},
            "run": {"steps": 1200, "ramp_steps": 100},
        },
        folder,
    )


def test_matrices_are_rotations_and_random_ones_are_uniform():
    """A uniform rotation takes an axis to a uniform direction, of mean 0 and variance 1/3 of each component."""
    quarter = Rotation(90.0).matrix
    assert quarter @ [1.0, 0.0, 0.0] == pytest.approx([0.0, 1.0, 0.0])
    about = Rotation(37.0, (1.0, 2.0, 3.0)).matrix
    assert about @ [1.0, 2.0, 3.0] == pytest.approx([1.0, 2.0, 3.0]) and np.trace(about) == pytest.approx(
        1.0 + 2.0 * np.cos(np.deg2rad(37.0))
    )
    found = np.array([Rotation(rotation_seed=seed).matrix for seed in range(1000)])
    assert np.abs(found @ found.transpose(0, 2, 1) - np.eye(3)).max() < 1e-12
    assert np.linalg.det(found) == pytest.approx(1.0)
    assert np.abs(found.mean(axis=0)).max() < 4.0 / np.sqrt(3000.0)
    assert np.abs((found**2).mean(axis=0) - 1.0 / 3.0).max() < 4.0 * np.sqrt(4.0 / 45.0 / 1000.0)


def test_a_quarter_turn_of_an_image_is_that_of_its_array():
    turned = load_content(bent_duct(), fluid_value=0, spacing_m=1e-3, rotation_deg=90.0).voxels
    fluid = turned.flags == FLUID
    expected = np.rot90(bent_duct() == 0, -1, axes=(1, 2))
    filled = [np.flatnonzero(fluid.any(axis=tuple({0, 1, 2} - {axis}))) for axis in range(3)]
    whole = [np.flatnonzero(expected.any(axis=tuple({0, 1, 2} - {axis}))) for axis in range(3)]
    inner = fluid[tuple(slice(each[0], each[-1] + 1) for each in filled)]
    assert np.array_equal(inner, expected[tuple(slice(each[0], each[-1] + 1) for each in whole)])


def test_points_of_a_rotated_image_are_where_the_rotation_puts_them():
    rotation = Rotation(rotation_seed=3)
    still, turned = (
        load_content(bent_duct(), fluid_value=0, spacing_m=1e-3, **options).voxels
        for options in ({}, {"rotation_seed": 3})
    )
    centres = [
        np.argwhere(voxels.flags == FLUID)[:, ::-1].mean(axis=0) * voxels.spacing_m + voxels.origin_m
        for voxels in (still, turned)
    ]
    assert np.linalg.norm(rotation.turned(centres[0][None])[0] - centres[1]) < 0.1e-3
    assert turned.n_fluid == pytest.approx(still.n_fluid, rel=0.04)


@pytest.mark.parametrize("options", [{"rotation_deg": 30.0, "rotation_axis": [1.0, 1.0, 0.0]}, {"rotation_seed": 5}])
def test_openings_of_a_case_turn_with_its_surface(options):
    """The volume between both openings and their areas are those of the tube."""
    nodes = load_nodes(of_tube(**options), TUBE)[0]
    assert nodes.n_nodes * 1e-9 == pytest.approx(np.pi * RADIUS_M**2 * (LENGTH_M - RADIUS_M), rel=0.02)
    turned = Rotation(**options).turned(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.5 * RADIUS_M]]))
    inlet = next(opening for opening in nodes.openings if opening.name == "inlet")
    assert inlet.normal == pytest.approx(turned[0]) and inlet.centre_m == pytest.approx(turned[1])


def test_fields_are_written_on_the_surface_as_it_was_moved(tmp_path):
    meshio.Mesh(TUBE.points, [("triangle", TUBE.triangles)]).write(tmp_path / "tube.stl")
    rotation = Rotation(40.0, (1.0, 0.0, 0.0))
    case = of_tube(tmp_path, rotation_deg=40.0, rotation_axis=[1.0, 0.0, 0.0], wall_moved_m=1e-3)
    for found in (input_surface(case), input_surface(case, TUBE)):
        x, y, z = rotation.turned_back(found.points_m).T
        assert np.hypot(x, y).max() == pytest.approx(RADIUS_M + 1e-3, rel=1e-3)
        assert (z.min(), z.max()) == pytest.approx((0.0, LENGTH_M), abs=1e-8)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_the_flow_in_a_rotated_tube_is_poiseuille(seed):
    case = of_tube(**({} if seed is None else {"rotation_seed": seed}))
    solver = Solver(case, SerialCommunicator(), load_nodes(case, TUBE)[0])
    solver.advance(1200)
    openings = solver.openings()
    drop_pa = openings["inlet"].mean_pressure_pa - openings["outlet"].mean_pressure_pa
    exact = 8.0 * DENSITY_KG_M3 * VISCOSITY_M2_S * (LENGTH_M - RADIUS_M) * FLOW_M3_S / (np.pi * RADIUS_M**4)
    assert drop_pa == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"rotation_deg": "much"}, "rotation_deg is 'much'; it must be a number of degrees"),
        ({"rotation_deg": 5.0, "rotation_axis": [0, 0, 0]}, "give a direction x, y, z"),
        ({"rotation_deg": 5.0, "rotation_seed": 1}, "take one"),
        ({"rotation_deg": 5.0, "mirror": "x"}, "this one repeats"),
        (
            {"rotation_deg": 5.0, "reservoir_layers": 2},
            "needs an input without openings, and this one has inlet, outlet",
        ),
        ({"rotation_dg": 5.0}, "did you mean 'rotation_deg'"),
    ],
)
def test_rotations_that_cannot_be_are_refused(options, told):
    with pytest.raises(GeometryError, match=told):
        load_content(bent_duct(), fluid_value=0, spacing_m=1e-3, **options)


def test_a_vector_beside_a_rotation_is_refused():
    case = of_tube(rotation_deg=5.0)
    pushed = case_from_dict(case.model_dump(exclude_none=True) | {"flow": {"acceleration_m_s2": [0.0, 0.0, 1.0]}})
    with pytest.raises(InputError, match=r"and flow.acceleration_m_s2 is a vector or place in the frame of the grid"):
        load_nodes(pushed, TUBE)
