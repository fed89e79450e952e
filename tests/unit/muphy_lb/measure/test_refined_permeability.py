"""Permeability on finer grids: the cases, what one flow hands to the next, crops, and the command."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.apps.rock import refined_flow
from muphy_lb.apps.rock.refinement import Refinement, crops, force_axis_of, largest_share, on_grid
from muphy_lb.apps.rock.settled_flow import Relay, settled_flow
from muphy_lb.apps.rock.time_step import quick_flow
from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.porous.preparation import divide
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver
from muphy_lb.setup.geometry import load_nodes
from muphy_lb.validation.flows import duct_flow_rate
from tests.unit.muphy_lb.measure.test_permeability import command

SPACING_M = 1e-5
WIDTH, HEIGHT = 3, 5
ROCK = {
    "geometry": {"file": "rock.npy", "spacing_m": SPACING_M, "periodic": ["x"]},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
    "flow": {"acceleration_m_s2": [1.0, 0.0, 0.0]},
    "lattice": {"relaxation_time": 1.0, "collision": "trt", "equilibrium": "stokes"},
    "compute": {"backend": "numpy", "precision": "fp64"},
    "run": {"steps": 4000, "ramp_steps": 0, "steady_interval_steps": 20},
}


def duct(length=2):
    """Pores (z, y, x), 1 = pore, of a duct along x."""
    pores = np.zeros((HEIGHT + 2, WIDTH + 2, length), np.uint8)
    pores[1:-1, 1:-1] = 1
    return pores


@pytest.fixture
def rock(tmp_path):
    """A function: the case of an image, with changes of its options."""

    def case(pores, periodic=("x",), **options):
        np.save(tmp_path / "rock.npy", pores)
        section = ROCK["geometry"] | {"file": str(tmp_path / "rock.npy"), "periodic": list(periodic)}
        return case_from_dict(ROCK | {"geometry": section | {"options": options}})

    return case


def test_a_finer_grid_has_the_same_relaxation_time_and_all_lengths_in_finer_voxels(rock):
    coarse = rock(duct(), (), reservoir_layers=2, reservoir_ends="periodic", divide=2)
    finer = on_grid(coarse, 3)
    assert finer.geometry.options | {"divide": 6, "reservoir_layers": 6} == finer.geometry.options
    assert finer.run.steps == 9 * coarse.run.steps and finer.lattice == coarse.lattice
    timed = coarse.model_copy(update={"lattice": coarse.lattice.model_copy(update={"time_step_s": 9.0})})
    assert on_grid(timed, 3).lattice.time_step_s == 1.0


def test_spheres_are_voxelised_anew():
    section = {"file": "pack.xyz", "spacing_m": 0.2, "options": {"radius": 1.0, "crop": [[0, 0, 1], [4, 5, 6]]}}
    finer = on_grid(case_from_dict(ROCK | {"geometry": section}), 2).geometry
    assert finer.spacing_m == 0.1 and finer.options == {"radius": 1.0, "crop": [[0, 0, 2], [8, 10, 12]]}


@pytest.mark.parametrize(("lattice", "periodic", "n_layers"), [("D2Q9", "x", 1), ("D3Q19", "xz", 1), ("D3Q19", "x", 2)])
def test_a_single_layer_stays_one_in_a_plane_flow(rock, lattice, periodic, n_layers):
    coarse = rock(duct()[3:4], periodic)
    coarse = coarse.model_copy(update={"lattice": coarse.lattice.model_copy(update={"name": lattice})})
    assert load_nodes(on_grid(coarse, 2))[0].shape == (n_layers, 2 * (WIDTH + 2), 4)


def test_parts_of_a_plane_image_have_its_layer(rock):
    image = rock(np.ones((1, 40, 40), np.uint8), "xz")
    for crop in crops(image, load_nodes(image)[0].header, 0.5, "x"):
        low, high = np.array(crop.geometry.options["crop"])
        assert (high - low).tolist() == [25, 25, 1]


def test_a_prepared_geometry_is_refused():
    with pytest.raises(InputError, match="final; name the image itself"):
        on_grid(case_from_dict(ROCK | {"geometry": {"file": "rock.h5"}}), 2)


@pytest.mark.parametrize("text", ["2", "1,1", "2,1", "1,x", "0,1", "1,2,3,4,5", ""])
def test_grids_that_tell_no_limit_are_refused(text):
    with pytest.raises(InputError, match="--refine is"):
        Refinement.read(text, None)


def test_no_memory_is_refused():
    with pytest.raises(InputError, match="--memory is 0"):
        Refinement.read("1,2", 0.0)


def test_reservoirs_count_neither_in_porosity_nor_in_permeability(rock):
    alone = settled_flow(rock(duct(12)), SerialCommunicator()).permeability
    between = settled_flow(
        rock(duct(12), (), reservoir_layers=4, reservoir_ends="periodic"), SerialCommunicator()
    ).permeability
    assert between.porosity == pytest.approx(alone.porosity)
    assert between.pore_size_voxels == pytest.approx(alone.pore_size_voxels)
    assert between.permeability_m2 == pytest.approx(alone.permeability_m2, rel=0.15)  # of the ends


@pytest.mark.parametrize("strength", [1.0, 1e-9])
def test_the_mean_velocity_is_that_of_the_field_however_slow(rock, strength):
    table = {"flow": {"acceleration_m_s2": [strength, 0.0, 0.0]}}
    flow = case_from_dict(rock(duct()).model_dump(exclude_defaults=True) | table)
    simulation = Solver(flow)
    simulation.step(20)
    mean = simulation.velocity_m_s().mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(simulation.mean_velocity_m_s(), mean, atol=1e-6 * mean[0])


def test_a_flow_that_is_handed_on_keeps_the_flow_through_every_section(rock):
    case, parts = rock(duct()), 3
    coarse, fine = (Solver(on_grid(case, each)) for each in (2, parts))
    coarse.step(300)
    relay = Relay()
    relay.take(coarse)
    relay.start(fine)
    for one, other in zip(coarse.mean_velocity_m_s(), fine.mean_velocity_m_s(), strict=True):
        assert other == pytest.approx(one, rel=3e-2, abs=1e-12)  # the start counts a step of the force
    assert np.abs(fine.pressure_pa()).max() < 1e-9


def test_fields_are_remapped_by_volume():
    pores = np.ones((1, 1, 2), bool)
    voxels = Voxels(np.where(pores, FLUID, SOLID).astype(FLAG_DTYPE), 1.0)
    coarse, fine = (build_nodes(divide(voxels, parts)) for parts in (1, 3))
    relay = Relay()
    relay._shape, relay._voxel = coarse.shape, coarse.voxel
    np.testing.assert_allclose(relay._remapped(np.array([1.0, 4.0]), fine.shape), [1, 1, 1, 4, 4, 4])
    halves = build_nodes(divide(voxels, 2))
    relay._shape, relay._voxel = halves.shape, halves.voxel
    np.testing.assert_allclose(relay._remapped(np.array([0.0, 3.0, 4.0, 6.0]), fine.shape), [0, 1.5, 3, 4, 5, 6])


def test_what_fits_is_a_share_of_the_memory_that_is_given(rock):
    case = rock(duct())
    shares = [largest_share(case, 10**6, 10**7, SerialCommunicator(), memory) for memory in (1e8, 2e8)]
    assert shares[1] == pytest.approx(2.0 * shares[0]) and 0.1 < shares[0] < 1.0


def test_crops_are_as_large_as_fits_and_are_mirrored_along_the_force(rock):
    case = rock(np.ones((40, 44, 48), np.uint8))
    found = crops(case, load_nodes(case)[0].header, 0.2, "x")
    assert [crop.geometry.options["mirror"] for crop in found] == ["x"] * 3
    lows, highs = zip(*(crop.geometry.options["crop"] for crop in found), strict=True)
    np.testing.assert_array_equal(lows[1], 0)
    np.testing.assert_array_equal(highs[2], [48, 44, 40])
    assert np.prod(np.subtract(highs[0], lows[0])) <= 0.16 * 48 * 44 * 40
    with pytest.raises(InputError, match="too few for a sample"):
        crops(case, load_nodes(case)[0].header, 0.001, "x")


def test_crops_need_a_force_along_an_axis():
    assert force_axis_of((0.0, 2.0, 0.0)) == "y"
    with pytest.raises(InputError, match="along one axis"):
        force_axis_of((1.0, 2.0, 0.0))


def test_the_command_tells_a_limit_whose_bar_holds_the_truth(tmp_path, rock):
    code, said, record = command(tmp_path, rock(duct()), refine="1,2")
    exact = duct_flow_rate(WIDTH, HEIGHT) / ((WIDTH + 2) * (HEIGHT + 2)) * SPACING_M**2
    found = record["refined"]["flow"]
    assert code == 0 and "on infinitely fine voxels" in said and "may still change by" in said
    assert abs(found["permeability_m2"] - exact) <= found["error_m2"] < 0.05 * exact
    assert [grid["parts"] for grid in found["grids"]] == [1, 2] and not found["order_is_measured"]
    assert record["flows"]["flow"]["throats"]["widths_voxels"][1] == WIDTH
    assert "NOT settled" not in said


def test_a_finer_flow_that_has_not_settled_is_told(tmp_path, rock, monkeypatch):
    flows = []

    def unsettled_but_for_the_first(*arguments):
        flows.append(quick_flow(*arguments))
        return replace(flows[-1], settled=len(flows) == 1)

    monkeypatch.setattr(refined_flow, "quick_flow", unsettled_but_for_the_first)
    code, said, _ = command(tmp_path, rock(duct()), refine="1,2")
    assert code == 1 and "warning: NOT settled: flows on voxels divided into 2; the error of k holds" in said


def test_the_command_takes_crops_where_memory_is_short(tmp_path, rock):
    pores = np.zeros((14, 14, 14), np.uint8)
    pores[5:9, 5:9] = 1
    code, said, record = command(tmp_path, rock(pores), refine="1,2", memory=0.0007)
    assert code == 0 and "do not fit into memory" in said
    grids = record["refined"]["flow"]["grids"]
    assert len(grids[1]["crop_changes"]) >= 1 and grids[1]["permeability_m2"] < grids[0]["permeability_m2"]


def test_memory_without_grids_is_refused(tmp_path, rock):
    with pytest.raises(InputError, match="--memory bounds"):
        command(tmp_path, rock(duct()), memory=1.0)
