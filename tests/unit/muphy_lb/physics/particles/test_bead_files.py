"""Beads of files: velocities, kinds, chains; what is written of them can be read back."""

import json

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.output.series import read_series
from muphy_lb.physics.particles.beads.start import angles_of, chain_bonds, linear_chains
from muphy_lb.physics.particles.files.read import read_particles
from muphy_lb.run.loop import Run
from tests.unit.muphy_lb.physics.particles.test_bead_input import HARMONIC, plane, simulation_of

DATA = """A chain of three and one of two

5 atoms
3 bonds
1 angles

Atoms # bond

10 1 1 0 4 4
11 1 2 1 4 4
12 1 1 2 4 4
20 2 1 0 6 6
21 2 1 2 6 6

Velocities

10 0.1 0 0
11 0.2 0 0
12 0.3 0 0
20 -0.1 0.05 0
21 -0.1 0 0

Bonds

1 1 10 11
2 2 12 11
3 1 21 20

Angles

1 1 10 11 12
"""
OF_FILE = {"length_unit_m": 1.0, "bonds": HARMONIC}


def simulation_of_data(folder, text=DATA, **keys):
    """The beads of a LAMMPS data file in a box of eight voxels."""
    (folder / "chains.data").write_text(text)
    return simulation_of({"file": str(folder / "chains.data"), **OF_FILE, **keys})


def test_chains_are_found_in_the_order_of_their_bonds():
    bonds = np.array([[5, 2], [2, 7], [0, 1], [3, 4]])
    pairs, (three,) = linear_chains(8, bonds)
    assert pairs.tolist() == [[0, 1], [3, 4]] and three.tolist() == [5, 2, 7]
    assert angles_of((pairs, three[None])).tolist() == [[5, 2, 7]]
    (chains,) = linear_chains(12, chain_bonds(3, 4)[0])
    assert chains.tolist() == np.arange(12).reshape(3, 4).tolist()


@pytest.mark.parametrize("bonds", [[[0, 1], [1, 2], [2, 0], [3, 4]], [[0, 1], [0, 2], [0, 3]], np.empty((0, 2), int)])
def test_rings_and_branches_are_no_chains(bonds):
    assert linear_chains(6, np.asarray(bonds)) == ()


def test_beads_start_with_the_velocities_of_their_file(tmp_path):
    found = simulation_of_data(tmp_path, time_unit_s=2.0).particles()["b"]
    assert found["velocity_x"] == pytest.approx([0.05, 0.1, 0.15, -0.05, -0.05])
    assert found["velocity_y"] == pytest.approx([0, 0, 0, 0.025, 0]) and not found["velocity_z"].any()


def test_velocities_without_a_unit_or_beyond_a_voxel_a_step_are_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"particles\.b\.file: .*do(es)? not state their unit of time; give time_unit_s"
    ):
        simulation_of_data(tmp_path)
    with pytest.raises(InputError, match=r"bead 12 starts with 3 m/s along an axis, 3 voxels a time step"):
        simulation_of_data(tmp_path, time_unit_s=0.1)


def test_a_file_without_velocities_starts_with_those_of_the_temperature(tmp_path):
    before, after = DATA.split("Velocities")
    text = before + "Bonds" + after.split("Bonds")[1]
    found = simulation_of_data(tmp_path, text).particles()["b"]
    assert 1e-4 < np.abs(found["velocity_z"]).max() < 0.1


def test_beads_start_where_the_case_lists_them_and_may_be_bonded(tmp_path):
    (tmp_path / "bonds.csv").write_text("id_1,id_2\n0,2\n")
    keys = {"positions_m": [[1.2, 2.0, 3.0], [7.9, 0, 0], [2.0, 2.0, 3.0]]}
    simulation = simulation_of({**keys, "bonds_file": str(tmp_path / "bonds.csv"), "bonds": HARMONIC})
    found, (species,) = simulation.particles()["b"], simulation.physics[0].species
    assert found["voxel_x"].tolist() == [1, 0, 2] and found["offset_x"] == pytest.approx([0.2, -0.1, 0.0])
    assert species.topology.chains[0].tolist() == [[0, 2]]
    with pytest.raises(InputError, match="exactly one of|give one of"):
        simulation_of({**keys, "count": 3})
    with pytest.raises(InputError, match="has bonds_file, whose bonds are between"):
        simulation_of({"count": 3, "bonds_file": "bonds.csv"})


def test_what_a_file_tells_apart_without_effect_is_told(tmp_path):
    (physics,) = simulation_of_data(tmp_path, time_unit_s=1.0).physics
    assert [text.removeprefix("particles.b: the file ") for text in physics.warnings()] == [
        "has beads of 2 kinds, which all have the same mass, friction and forces",
        "has bonds of 2 kinds, which all have the same force",
        "lists angles (1), and nothing resists bending without bending_j",
    ]


def test_the_angles_of_chains_are_known_without_a_list(tmp_path):
    listed = simulation_of_data(tmp_path, time_unit_s=1.0, bending_j=1e-4)
    text = DATA.replace("1 angles\n", "").split("Angles")[0]
    found = simulation_of_data(tmp_path, text, time_unit_s=1.0, bending_j=1e-4)
    angles = [each.physics[0].species[0].topology.angles.tolist() for each in (listed, found)]
    assert angles[0] == angles[1] == [[0, 1, 2]]


def test_the_box_of_a_file_is_told_where_it_is_not_that_of_the_geometry(tmp_path):
    bounds = "\n0 {} xlo xhi\n0 8 ylo yhi\n0 8 zlo zhi\n"
    for edge, told in (
        (8, []),
        (20, ["the box of the file, 20 x 8 x 8 m, is not read: that of the geometry is 8 x 8 x 8 m"]),
    ):
        physics = simulation_of_data(
            tmp_path, DATA.replace("\nAtoms", bounds.format(edge) + "\nAtoms"), time_unit_s=1.0
        ).physics[0]
        texts = [text.removeprefix("particles.b: ") for text in physics.warnings()]
        assert [text for text in texts if "box" in text] == told


def test_beads_without_a_temperature_do_not_diffuse_and_it_is_told():
    cold = {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 1 / 6}
    for keys, n_told in (({"fluid": cold}, 1), ({}, 0)):
        (physics,) = simulation_of({"count": 2}, **keys).physics
        assert sum("beads do not diffuse" in text for text in physics.warnings()) == n_told


def test_sizes_of_chains_crossings_and_snapshots_of_beads_of_a_file(tmp_path):
    tables = {"run": {"steps": 18, "ramp_steps": 0}, "output": {"series_every_steps": 1, "picture": False}}
    (tmp_path / "chains.data").write_text(DATA)
    keys = {"file": str(tmp_path / "chains.data"), **OF_FILE, "time_unit_s": 1.0, "planes": [plane("middle")]}
    keys |= {"snapshots_every_steps": 9, "extxyz": True, "coupling": "one-way", "friction_kg_s": 1e-9}
    Run(simulation_of(keys, **tables), tmp_path / "out").execute()
    rows = read_series(tmp_path / "out" / "particles_b.csv")
    # The chain of three beads, drawn out from 2 voxels by its velocities, and the pair, 2 voxels apart.
    assert rows["square_end_to_end_m2"][0] == pytest.approx((2.2**2 + 2.0**2 + 0.05**2) / 2, rel=0.01)
    record = json.loads((tmp_path / "out" / "summary.json").read_text())["particles_b"]
    assert record["middle_crossed"] == rows["middle_crossed"][-1]
    assert record["mean_temperature_k"] > 0 and record["mean_temperature_error_k"] > 0
    first, last = (read_particles(tmp_path / "out" / "particles_b.xyz", 1.0, frame=n) for n in (0, -1))
    assert first.id.tolist() == [10, 11, 12, 20, 21] and first.kind.tolist() == ["1", "2", "1", "1", "1"]
    # After 18 steps the second and the last bead of the chain have passed the plane at x = 4; the pair has not come
    # to its image at -4. Bonds are soft: they move beads by a third of a voxel.
    apart = (last.position_m[:, 0] - [1.8, 4.6, 7.4, -1.8, 0.2] + 4.0) % 8.0 - 4.0
    assert np.abs(apart).max() < 0.5
    assert rows["middle_crossed"][-1] == 2 and rows["middle_crossed"][0] == 0


def test_a_resumed_run_writes_the_frames_of_one_that_goes_through(tmp_path):
    tables = {"run": {"steps": 8, "ramp_steps": 0}, "output": {"checkpoint_every_steps": 4, "picture": False}}
    keys = {"count": 4, "snapshots_every_steps": 2, "extxyz": True}
    Run(simulation_of(keys, **tables), tmp_path / "through").execute()
    Run(simulation_of(keys, **tables | {"run": {"steps": 4, "ramp_steps": 0}}), tmp_path / "twice").execute()
    Run(simulation_of(keys, **tables), tmp_path / "twice", resume=True).execute()
    texts = [(tmp_path / name / "particles_b.xyz").read_text() for name in ("through", "twice")]
    assert texts[0] == texts[1] and texts[0].count("Properties") == 4
