"""Beads that cannot be started, or go wrong under way: one message, which names bead and remedy."""

from collections import defaultdict

import pytest

from muphy_lb.base.errors import BackendError, DivergedError, InputError
from muphy_lb.base.units import BOLTZMANN_J_K
from muphy_lb.case.case import case_from_dict
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.particles.beads.model import _moving
from muphy_lb.run.solver import Solver

DUCT = {"geometry": {"spacing_m": 1.0, "shape": "square_duct", "options": {"length": 12, "side": 7}}}
BOX = {"spacing_m": 1.0, "shape": "random_solid", "options": {"shape_zyx": [8, 8, 8], "porosity": 1.0}}
HARMONIC = {"stiffness_n_m": 1e-3}
FENE = {"potential": "fene", "stiffness_n_m": 1e-3, "length_m": 1.5}
TWO = "id,x_m,y_m,z_m\n5,3,{},3\n9,3,{},3\n"
THREE = {"chains": 1, "beads_per_chain": 3}


def plane(name, normal=(1.0, 0.0, 0.0)) -> dict:
    """A plane in the middle of the box."""
    return {"name": name, "point_m": [4.0, 4.0, 4.0], "normal": list(normal)}


def simulation_of(keys, **tables) -> Solver:
    """A box with beads in lattice units."""
    beads = {"kind": "beads", "name": "b", "mass_kg": 1.0, "friction_kg_s": 0.1, **keys}
    tables = {
        "geometry": BOX,
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 1 / 6, "temperature_k": 1e-4 / BOLTZMANN_J_K},
        "lattice": {"name": "D3Q19", "collision": "bgk", "time_step_s": 1.0},
        "run": {"steps": 1, "ramp_steps": 0},
        **tables,
        "compute": {"backend": "numpy", **tables.get("compute", {})},
        "particles": [beads],
    }
    return Solver(case_from_dict(tables), SerialCommunicator())


def observe(simulation: Solver, folder) -> None:
    """Make the observers of the beads, as a run does."""
    (physics,) = simulation.physics
    physics.observers(simulation, folder, None)


def check(simulation: Solver) -> None:
    """What every row of the series does first."""
    (species,) = simulation.physics[0].species
    species.checks.under_way(simulation.particles()["b"])


@pytest.mark.parametrize(
    ("keys", "tables", "said"),
    [
        (
            {**THREE, "bonds": HARMONIC, "start_m": [3, -5, 3]},
            DUCT,
            r"particles\.b\.start_m: there is no fluid at .*-5",
        ),
        ({**THREE, "bonds": {"stiffness_n_m": 10.0}}, {}, r"bonds.* 6\.32 radians .* set substeps = 13"),
        ({"count": 3, "pull": {"force_n": [1, 0, 0], "ids": [7]}}, {}, r"pull\.ids has 7"),
        ({**THREE, "bonds": {**FENE, "length_m": 4.5}}, {}, r"particles\.b\.bonds acts up to 4\.5 m; allowed.* 4 m"),
        ({"count": 2, "repulsion": {"energy_j": 1e-4, "diameter_m": 4.0}}, {}, r"repulsion acts up to 4\.49 m; .* 4 m"),
        (
            {"count": 2, "wall_force": {"energy_j": 1e-4, "distance_m": 1.0}},
            {},
            r"wall_force\.distance_m is 1.*0\.8909",
        ),
        (
            {"count": 3, "mass_kg": 1e-22},
            {"fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.1, "temperature_k": 300.0}},
            r"at fluid.temperature_k = 300 beads of 1e-22 kg .* a time step of at most 0\.0311 s",
        ),
        ({**THREE, "substeps": 10**9}, {}, r"b\.substeps is 1000000000: must be less than or equal to 1000"),
        ({**THREE, "bonds": {"stiffness_n_m": 1e9}}, {}, r"bonds.* a substep: take softer bonds"),
        (
            {"chains": 10**6, "beads_per_chain": 2000, "bonds": HARMONIC},
            {},
            "chains = 1000000 and beads_per_chain = 2000, 2000000000 beads; at most 10000000 are allowed",
        ),
        ({"chains": 2**31 - 1, "beads_per_chain": 2**31 - 1, "bonds": HARMONIC}, {}, "equal to 10000 "),
        ({"count": 2**31 - 1}, {}, r"particles\.b: placing 2147483647 particles needs \d+ GiB"),
        ({"positions_m": [0] * 100_001}, {}, r"positions_m holds 100001 entries; at most 100000"),
        ({"count": 2, "bonds": HARMONIC}, {}, "has bonds, and the single beads of count have no bonds"),
        ({"count": 2, "bending_j": 1e-4}, {}, "has bending_j, and the single beads of count have no bonds"),
        (
            {"count": 2, "pull": {"force_n": [1, 0, 0], "box_m": [[9, 0, 0], [12, 8, 8]]}},
            {},
            r"pull\.box_m is \[\[9\.0, .* outside the geometry; move it",
        ),
        ({"count": 2, "time_unit_s": 1.0}, {}, "has time_unit_s, which only file reads"),
        ({"count": 2, "extxyz": True}, {}, "has extxyz, which is for snapshots"),
        ({"count": 2, "planes": [plane("a"), plane("a")]}, {}, "has two planes named 'a'"),
        ({"count": 2, "planes": [plane("a", [0, 0, 0])]}, {}, "has a normal without a direction"),
        ({"count": 2, "planes": [plane("a") | {"point_m": [9.0, 0.0, 0.0]}]}, {}, r"planes\.a is outside the box"),
        ({"positions_m": [[1e30, 0, 0]]}, {}, r"particles\.b\.positions_m.*1e\+30"),
        (
            {"count": 2, "planes": [plane("a", [1, 1, 0])]},
            {},
            r"planes\.a\.normal is \[1\.0, 1\.0, 0\.0\], which is inclined to the periodic axis x",
        ),
        ({"count": 2}, {"compute": {"streaming": "push"}}, r"streaming is 'push' with the beads 'b'.*'pull'"),
        ({"count": 2}, {"compute": {"streaming": "aa"}}, r"streaming is 'aa' with the beads 'b'.*'pull'"),
        ({"count": 2}, {"compute": {"precision": "fp16"}}, r"'fp16' with beads.*'fp32' or 'fp64'"),
    ],
)
def test_beads_that_cannot_be_are_refused(keys, tables, said, tmp_path):
    with pytest.raises(InputError, match=said):
        observe(simulation_of(keys, **tables), tmp_path)


@pytest.mark.parametrize(
    ("places", "keys", "tables", "said"),
    [
        ((3, -4), {}, DUCT, r"beads\.csv, line 3: there is no fluid at \[3\.0, -4"),
        ((3, "nan"), {}, {}, r"beads\.csv, line 3: the position of particle 9"),
        ((2, 4), {"bonds": FENE}, {}, r"the bond 5-9 starts with 2 m; allowed: less than bonds\.length_m = 1\.5"),
        (
            (3, 3),
            {"repulsion": {"energy_j": 1e-4, "diameter_m": 1.0}},
            {},
            r"the beads 5 and 9 start at the same place",
        ),
    ],
)
def test_beads_of_a_file_that_cannot_start_are_refused(places, keys, tables, said, tmp_path):
    (tmp_path / "beads.csv").write_text(TWO.format(*places))
    (tmp_path / "bonds.csv").write_text("id_1,id_2\n5,9\n")
    bonds = {"bonds_file": str(tmp_path / "bonds.csv")} if "bonds" in keys else {}
    with pytest.raises(InputError, match=said):
        simulation_of({"file": str(tmp_path / "beads.csv"), **bonds, **keys}, **tables)


def test_what_the_file_and_the_table_of_beads_do_not_say_together_is_refused(tmp_path):
    (tmp_path / "beads.csv").write_text(TWO.format(3, 4))
    (tmp_path / "bonds.csv").write_text("id_1,id_2\n5,9\n")
    files = {name: str(tmp_path / f"{stem}.csv") for name, stem in (("file", "beads"), ("bonds_file", "bonds"))}
    with pytest.raises(InputError, match="has bonds in its file but no table bonds"):
        simulation_of(files)
    with pytest.raises(InputError, match=r"particles\.b\.bonds is given, and no bonds are listed"):
        simulation_of({"file": files["file"], "bonds": HARMONIC})
    with pytest.raises(InputError, match=r"bending_j is given, and no angles are listed"):
        simulation_of({**files, "bonds": HARMONIC, "bending_j": 1e-4})
    (tmp_path / "bonds.csv").write_text("id_1,id_2\n5,8\n")
    with pytest.raises(InputError, match=r"particles\.b\.bonds_file: .*bonds\.csv, line 2: .* 8"):
        simulation_of({**files, "bonds": HARMONIC})
    with pytest.raises(InputError, match=r"particles\.b\.file: .*nowhere\.csv"):
        simulation_of({"file": str(tmp_path / "nowhere.csv")})


def test_a_bond_across_a_periodic_face_is_as_short_as_its_nearest_image(tmp_path):
    (tmp_path / "beads.csv").write_text(TWO.format(7, 0))
    (tmp_path / "bonds.csv").write_text("id_1,id_2\n5,9\n")
    files = {name: str(tmp_path / f"{stem}.csv") for name, stem in (("file", "beads"), ("bonds_file", "bonds"))}
    check(simulation_of({**files, "bonds": FENE}))


def test_kernels_of_single_beads_do_a_few_substeps_each():
    (species,) = simulation_of({"positions_m": [[3, 4, 4]], "substeps": 20}).physics[0].species
    stages = _moving(species.beads, defaultdict(float))
    assert [stage.name for stage in stages] == ["b forces 7", "b forces 15", "b move"]


def test_more_beads_than_there_is_room_for_are_refused():
    with pytest.raises(BackendError, match="set 'b' has room for 10 particles .* larger capacity"):
        simulation_of({"count": 30, "capacity": 10})


def test_a_bond_that_breaks_ends_the_run():
    simulation = simulation_of({**THREE, "bonds": FENE, "pull": {"force_n": [0.02, 0, 0], "ids": [0]}})
    with pytest.raises(
        DivergedError, match=r"particles\.b: the bond 0-1 has broken: it is .* at most 1\.5 m; take more"
    ):
        for _ in range(50):
            simulation.step()
            check(simulation)


def test_a_bead_that_passes_a_wall_ends_the_run():
    simulation = simulation_of({"count": 3, "pull": {"force_n": [0, 9, 0], "ids": [1]}}, **DUCT)
    with pytest.raises(DivergedError, match="particle 1 of the set 'b' has moved more than a voxel.* weaker forces"):
        for _ in range(20):
            simulation.step()
            check(simulation)


def test_a_value_that_is_no_number_ends_the_run():
    simulation = simulation_of({"count": 3})
    columns = simulation.particles()["b"]
    columns["velocity_x"][2] = float("nan")
    (species,) = simulation.physics[0].species
    with pytest.raises(DivergedError, match="bead 2 is not a number"):
        species.checks.under_way(columns)
