"""Tables of particles come in whole from every format, and what is wrong with one is said in a single message."""

import os
import re

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.physics.particles.files import text
from muphy_lb.physics.particles.files.read import read_bonds, read_particles
from muphy_lb.physics.particles.files.table import BondedInteractions, ParticleTable

SPACING_M = 1e-6

LAMMPS = """a chain of three beads

3 atoms
2 bonds
1 angles
2 atom types

0.0 10.0 xlo xhi
-5 5 ylo yhi
0 20 zlo zhi

Masses

1 1.0
2 2.0

Atoms # {style}

{atoms}

Velocities

2 0 0 2
1 0 1 0
3 3 0 0

Bonds

1 1 1 2
2 2 2 3

Angles

1 1 1 2 3
"""
ATOMS = {
    "atomic": "3 1 1.0 2.0 3.0 0 0 1\n1 2 4.0 5.0 6.0 0 0 0\n2 1 7 8 9 0 0 0",
    "bond": "3 1 1 1.0 2.0 3.0\n1 1 2 4.0 5.0 6.0\n2 1 1 7 8 9",
    "molecular": "3 1 1 1.0 2.0 3.0\n1 1 2 4.0 5.0 6.0\n2 1 1 7 8 9",
    "full": "3 1 1 0.5 1.0 2.0 3.0\n1 1 2 0 4.0 5.0 6.0\n2 1 1 0 7 8 9",
    "angle": "3 1 1 1.0 2.0 3.0\n1 1 2 4.0 5.0 6.0\n2 1 1 7 8 9",
    "charge": "3 1 0.5 1.0 2.0 3.0 0 0 1\n1 2 0 4.0 5.0 6.0 0 0 0\n2 1 0 7 8 9 0 0 0",
    "sphere": "3 1 0.5 1.0 1.0 2.0 3.0\n1 2 0.5 1 4.0 5.0 6.0\n2 1 0.5 1 7 8 9",
}


def file(folder, name, content):
    """A text file."""
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_csv_with_all_columns(tmp_path):
    path = file(
        tmp_path,
        "beads.csv",
        "id,kind,x_m,y_m,z_m,vx_m_s,vy_m_s,vz_m_s\n# two\n7,red,1e-6,2e-6,3e-6,1,2,3\n\n5, blue, 0,0,0,-1,0,0\n",
    )
    table = read_particles(path, SPACING_M)
    assert table.id.tolist() == [7, 5] and table.kind.tolist() == ["red", "blue"]
    assert table.position_m.tolist() == [[1e-6, 2e-6, 3e-6], [0.0, 0.0, 0.0]]
    assert table.velocity_m_s.tolist() == [[1.0, 2.0, 3.0], [-1.0, 0.0, 0.0]]
    assert table.bonds.shape == (0, 2) and table.angles.shape == (0, 3) and table.n_particles == 2


def test_csv_with_positions_alone_is_numbered_in_its_order(tmp_path):
    table = read_particles(file(tmp_path, "a.CSV", "\ufeffz_m,y_m,x_m\n3,2,1\n6,5,4\n"), 1.0)
    assert table.id.tolist() == [0, 1] and table.kind is None and table.velocity_m_s is None
    assert table.position_m.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_bonds_come_from_a_file_of_their_own(tmp_path):
    particles = read_particles(file(tmp_path, "a.csv", "id,x_m,y_m,z_m\n4,0,0,0\n9,1,1,1\n"), 1.0)
    table = particles.with_bonds(read_bonds(file(tmp_path, "b.csv", "id_1,id_2,kind\n9,4,stiff\n")))
    assert table.bonds.tolist() == [[9, 4]] and table.bond_kind.tolist() == ["stiff"]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("style", ATOMS)
def test_lammps_data_files_of_every_style(tmp_path, style, named):
    heading = style if named else "I like comments"
    path = file(tmp_path, "chain.data", LAMMPS.format(style=heading, atoms=ATOMS[style]))
    table = read_particles(path, SPACING_M, length_unit_m=1e-9, time_unit_s=1e-12)
    assert table.id.tolist() == [3, 1, 2] and table.kind.tolist() == ["1", "2", "1"]
    assert table.position_m == pytest.approx(1e-9 * np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]))
    assert table.velocity_m_s == pytest.approx(1e3 * np.array([[3, 0, 0], [0, 1, 0], [0, 0, 2]]))
    assert table.bonds.tolist() == [[1, 2], [2, 3]] and table.bond_kind.tolist() == ["1", "2"]
    assert table.angles.tolist() == [[1, 2, 3]] and table.angle_kind.tolist() == ["1"]
    assert table.box_m == pytest.approx(1e-9 * np.array([[0, -5, 0], [10, 5, 20]]))


EXTXYZ = """2
Lattice="1 0 0 0 1 0 0 0 1" Properties=species:S:1:pos:R:3:forces:R:2:velo:R:3:id:I:1 Time=0.5
H 1 2 3 0 0 4 5 6 11
He 7 8 9 0 0 1 1 1 12
1

C 1.5 2.5 3.5
3
plain
C 0 0 0
C 1 0 0
O 2 0 0
"""


def test_extended_xyz_columns_are_those_of_the_comment(tmp_path):
    table = read_particles(file(tmp_path, "a.extxyz", EXTXYZ), SPACING_M, 1e-10, 1e-15)
    assert table.id.tolist() == [11, 12] and table.kind.tolist() == ["H", "He"]
    assert table.position_m == pytest.approx(1e-10 * np.array([[1, 2, 3], [7, 8, 9]]))
    assert table.velocity_m_s == pytest.approx(1e5 * np.array([[4, 5, 6], [1, 1, 1]]))


@pytest.mark.parametrize(("frame", "n", "line"), [(0, 2, 3), (1, 1, 7), (2, 3, 10), (-1, 3, 10), (-3, 2, 3)])
def test_any_frame_can_be_chosen(tmp_path, frame, n, line):
    table = read_particles(file(tmp_path, "a.xyz", EXTXYZ), SPACING_M, 1e-10, 1e-15, frame)
    assert table.n_particles == n and table.lines[0] == line and len(table.kind) == n


def test_a_file_that_states_its_units_needs_no_others(tmp_path):
    stated = "1\nlength_unit_m=1e-6 time_unit_s=1e-3 Properties=pos:R:3:velo:R:3\n1 2 3 4 5 6\n"
    path = file(tmp_path, "a.extxyz", stated)
    table = read_particles(path, SPACING_M)
    assert table.position_m == pytest.approx(np.array([[1e-6, 2e-6, 3e-6]]))
    assert table.velocity_m_s == pytest.approx(np.array([[4e-3, 5e-3, 6e-3]]))
    with pytest.raises(InputError, match="states length_unit_m = 1e-06, and length_unit_m = 1e-10 is given"):
        read_particles(path, SPACING_M, length_unit_m=1e-10)


HEAD = "id,x_m,y_m,z_m\n"
WRONG_CSV = {
    "an id twice": (HEAD + "3,0,0,0\n3,1,1,1\n", "line 3: the id 3 is there already, at .*line 2"),
    "a NaN": (HEAD + "3,0,0,0\n8,nan,1,1\n", r"line 3: the position of particle 8 is \[nan, 1.0, 1.0\]"),
    "infinity": (HEAD + "3,0,-inf,0\n", r"line 2: the position of particle 3 is \[0.0, -inf, 0.0\]"),
    "no particles": (HEAD, "has headings and no rows"),
    "nothing": ("", "has no column x_m"),
    "a column too few": (HEAD + "3,0,0,0\n4,0,0\n", "line 3: 3 columns; there must be 4: id,x_m,y_m,z_m"),
    "a column too many": (HEAD + "3,0,0,0,0\n", "line 2: 5 columns; there must be 4"),
    "no number": (HEAD + "3,0,0,zero\n", "line 2: a position is 'zero'; it must be a number"),
    "a number beyond all use": (HEAD + "3,0,0,-1e300\n", r"line 2: a position is -1e\+300; it must be at most 1e\+15"),
    "a broken id": (HEAD + "3.5,0,0,0\n", "line 2: the id is '3.5'; it must be a whole number"),
    "an id beyond 32 bits": (
        HEAD + "2147483648,0,0,0\n",
        "line 2: the id is 2147483648; it must be from 0 to 2147483647",
    ),
    "a negative id": (HEAD + "-3,0,0,0\n", "line 2: the id is -3; it must be from 0 to"),
    "a huge id": (HEAD + "9" * 30 + ",0,0,0\n", "line 2: the id is '9+'; it must be a whole number"),
    "semicolons": ("x_m;y_m;z_m\n0,1;0;0\n", "line 1: 'x_m;y_m;z_m'; columns must be divided by commas"),
    "a field without end": (HEAD + "3,0,0," + '"' + "7" * 200 + "\n", "line 2: '3,0,0,.*7+.* is not a line of CSV"),
    "an unknown heading": ("x_m,y_m,zm\n0,0,0\n", "unknown heading 'zm'; did you mean 'z_m'"),
    "a heading twice": ("x_m,y_m,z_m,x_m\n0,0,0,0\n", "the heading x_m is there twice"),
    "half a velocity": ("x_m,y_m,z_m,vx_m_s\n0,0,0,0\n", "has no column vy_m_s"),
    "an empty kind": ("x_m,y_m,z_m,kind\n0,0,0,\n", "line 2: the kind is ''; it must be a word"),
    "a long kind": ("x_m,y_m,z_m,kind\n0,0,0," + "a" * 101 + "\n", "line 2: the kind is 'a+.*at most 100"),
    "a kind that a terminal obeys": ("x_m,y_m,z_m,kind\n0,0,0,\x1b[2J\n", r"line 2: the kind is '\\x1b\[2J'"),
    "the wrong unit": (HEAD + "3,0,0,1e9\n", "is 1e.09 m from the origin, 1e.15 voxels of 1e-06 m; check the unit"),
}


@pytest.mark.parametrize("case", WRONG_CSV)
def test_what_is_wrong_with_a_csv_file_is_told(tmp_path, case):
    content, message = WRONG_CSV[case]
    with pytest.raises(InputError, match=message):
        read_particles(file(tmp_path, "a.csv", content), SPACING_M)


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_line_ends_of_other_systems_are_read(tmp_path, end):
    (tmp_path / "a.csv").write_bytes(f"x_m,y_m,z_m{end}1,2,3{end}4,5,6{end}".encode())
    (tmp_path / "b.csv").write_bytes(f"id_1,id_2{end}0,1".encode())
    table = read_particles(tmp_path / "a.csv", 1.0).with_bonds(read_bonds(tmp_path / "b.csv"))
    assert table.position_m.tolist() == [[1, 2, 3], [4, 5, 6]] and table.bonds.tolist() == [[0, 1]]


WRONG_BONDS = {
    "unknown": ("4,9\n4,5\n", "b.csv, line 3: the bond 4-5 names particle 5, which is not among the 2 particles"),
    "itself": ("4,9\n9,9\n", "b.csv, line 3: the bond 9-9 names a particle twice; it must join 2 different ones"),
    "twice": ("4,9\n9,4\n", "b.csv, line 3: the bond 9-4 is there already; each must be there once"),
}


@pytest.mark.parametrize("case", WRONG_BONDS)
def test_bonds_must_join_two_particles_of_the_table(tmp_path, case):
    content, message = WRONG_BONDS[case]
    particles = read_particles(file(tmp_path, "a.csv", HEAD + "4,0,0,0\n9,1e-6,0,0\n"), SPACING_M)
    bonds = read_bonds(file(tmp_path, "b.csv", "id_1,id_2\n" + content))
    with pytest.raises(InputError, match=message):
        particles.with_bonds(bonds)


def chain(style="bond", **changes):
    """The data file of the chain with some text replaced."""
    content = LAMMPS.format(style=style, atoms=ATOMS["bond"])
    for old, new in changes.get("replace", ()):
        assert old in content
        content = content.replace(old, new)
    return content


WRONG_LAMMPS = {
    "no style and no telling columns": (
        [("Atoms # bond", "Atoms # mine, dear"), ("1.0 2.0 3.0", "1.0"), ("4.0 5.0 6.0", "4"), ("7 8 9", "7")],
        "the heading Atoms names no style",
    ),
    "a style of others": ([("# bond", "# hybrid sphere bond")], "atoms of style 'hybrid sphere bond'"),
    "another style": (
        [("# bond", "# dipole")],
        "atoms of style 'dipole'; allowed: atomic, bond, angle, molecular, charge, full, sphere",
    ),
    "nearly a style": ([("# bond", "# atomi")], "did you mean 'atomic'"),
    "too few atoms": ([("3 atoms", "4 atoms")], "section Atoms has 3 lines, and the header says 4"),
    "a short line": (
        [("2 1 1 7 8 9", "2 1 1 7 8")],
        "line 21: 5 columns; there must be 6 or 9: id molecule type x y z",
    ),
    "images on one line": ([("2 1 1 7 8 9", "2 1 1 7 8 9 0 0 0")], "some lines of section Atoms count images"),
    "velocities of others": ([("2 0 0 2", "4 0 0 2")], "section Velocities is not of the 3 atoms"),
    "an unknown bond": ([("2 2 2 3", "2 2 2 8")], "line 32: the bond 2-8 names particle 8"),
    "an angle with one twice": ([("1 1 1 2 3", "1 1 1 2 1")], "the angle 1-2-1 names a particle twice"),
    "a missing section": ([("Bonds\n\n1 1 1 2\n2 2 2 3\n", "")], "the header says 2 bonds; no section Bonds"),
    "bounds that cross": ([("-5 5 ylo", "5 -5 ylo")], "line 9: '5 -5 ylo yhi'; bounds must be two numbers"),
    "a section twice": ([("Angles", "Bonds")], "a second section 'Bonds'"),
    "no atoms at all": ([("Atoms # bond", "Others")], "has no section Atoms"),
}


@pytest.mark.parametrize("case", WRONG_LAMMPS)
def test_what_is_wrong_with_a_data_file_is_told(tmp_path, case):
    replace, message = WRONG_LAMMPS[case]
    path = file(tmp_path, "a.data", chain(replace=replace))
    with pytest.raises(InputError, match=message):
        read_particles(path, SPACING_M, 1e-9, 1e-12)


WRONG_XYZ = {
    "no frame": ("", "has 0 frames; frame 0 is not among them"),
    "no count": ("two\n\nC 0 0 0\n", "line 1: 'two'; a frame must begin with its number of particles"),
    "a count like a superscript": ("²\n\nC 0 0 0\n", "a frame must begin with its number"),
    "a false count": ("999999999999\n\nC 0 0 0\n", "a frame of 999999999999 particles, in a file of"),
    "a cut frame": ("3\n\nC 0 0 0\nC 1 1 1\n", "the frame ends after 2 of 3 particles; it is truncated"),
    "a short row": ("2\n\nC 0 0 0\nC 1 1\n", "line 4: 3 columns; there must be 4"),
    "no positions": ("1\nProperties=species:S:1\nC\n", "Properties has no column pos:R:3"),
    "flat positions": ("1\nProperties=pos:R:2\n1 2\n", r"Properties says pos:R:2; allowed: pos:R:3"),
    "broken properties": (
        "1\nProperties=pos:R\n1 2 3\n",
        "Properties is 'pos:R'; it must be a list of name:kind:count",
    ),
    "a wide column": ("1\nProperties=pos:R:3:a:R:9999\n1 2 3\n", "column 'a' has 9999 components"),
    "a zero unit": ("1\nlength_unit_m=0\nC 1 2 3\n", "length_unit_m is 0.0; it must be a number above zero"),
    "a wordy unit": ("1\nlength_unit_m=nm\nC 1 2 3\n", "length_unit_m is 'nm'; it must be a number"),
    "no particles": ("0\n\n", "no particles"),
}


@pytest.mark.parametrize("case", WRONG_XYZ)
def test_what_is_wrong_with_an_xyz_file_is_told(tmp_path, case):
    content, message = WRONG_XYZ[case]
    given = None if "unit" in case else 1e-10
    with pytest.raises(InputError, match=message):
        read_particles(file(tmp_path, "a.xyz", content), SPACING_M, given, 1e-15)


def test_a_frame_that_is_not_there_is_told(tmp_path):
    path = file(tmp_path, "a.xyz", EXTXYZ)
    for frame in (3, -4):
        with pytest.raises(InputError, match=f"has 3 frames; frame {frame} is not among them"):
            read_particles(path, SPACING_M, 1e-10, 1e-15, frame)


def test_units_that_nobody_states_are_asked_for(tmp_path):
    path = file(tmp_path, "a.extxyz", EXTXYZ)
    with pytest.raises(InputError, match="does not state its unit of length; give length_unit_m"):
        read_particles(path, SPACING_M, time_unit_s=1e-15)
    with pytest.raises(InputError, match="holds velocities .* give time_unit_s"):
        read_particles(path, SPACING_M, 1e-10)
    with pytest.raises(InputError, match="length_unit_m is -1.0"):
        read_particles(path, SPACING_M, -1.0)


def test_csv_files_are_in_metres_whatever_is_given(tmp_path):
    with pytest.raises(InputError, match="states length_unit_m = 1, and length_unit_m = 1e-10 is given"):
        read_particles(file(tmp_path, "a.csv", "x_m,y_m,z_m\n0,0,0\n"), 1.0, length_unit_m=1e-10)


@pytest.mark.parametrize(("name", "message"), [("a.xzy", "did you mean '.xyz'"), ("a.toml", "allowed|did you mean")])
def test_an_unknown_ending_is_told(tmp_path, name, message):
    with pytest.raises(InputError, match=f"unknown ending.*({message})"):
        read_particles(tmp_path / name, 1.0)
    with pytest.raises(InputError, match="unknown ending.*allowed: .csv"):
        read_bonds(tmp_path / name)


def test_only_trajectories_have_frames(tmp_path):
    with pytest.raises(InputError, match="frame is 1; only files .xyz and .extxyz have frames"):
        read_particles(file(tmp_path, "a.csv", "x_m,y_m,z_m\n0,0,0\n"), 1.0, frame=1)


@pytest.mark.parametrize("suffix", [".csv", ".xyz", ".data"])
def test_only_regular_files_of_text_are_read(tmp_path, suffix):
    with pytest.raises(InputError, match="No such file"):
        read_particles(tmp_path / f"none{suffix}", 1.0)
    os.mkfifo(tmp_path / f"pipe{suffix}")
    with pytest.raises(InputError, match="a pipe or a device"):
        read_particles(tmp_path / f"pipe{suffix}", 1.0)
    (tmp_path / f"bytes{suffix}").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not text in UTF-8"):
        read_particles(tmp_path / f"bytes{suffix}", 1.0)
    file(tmp_path, f"long{suffix}", "1 " * text.MAX_LINE)
    with pytest.raises(InputError, match="line 1: it is longer than"):
        read_particles(tmp_path / f"long{suffix}", 1.0)


def test_a_file_larger_than_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("muphy_lb.geometry.limits.free_bytes", lambda: 10**6)
    path = file(tmp_path, "a.csv", "x_m,y_m,z_m\n" + "0,0,0\n" * 10**4)
    with pytest.raises(InputError, match="of memory; .* are free: split the file"):
        read_particles(path, 1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"position_m": np.zeros((2, 2))}, r"position has shape \(2, 2\); for 2 particles it must be \(2, 3\)"),
        ({"velocity_m_s": np.full((2, 3), np.nan)}, "row 0: the velocity of particle 0 is"),
        ({"kind": np.array(["a"])}, "1 kinds for 2 particles"),
        ({"id": [], "position_m": np.zeros((0, 3))}, "no particles"),
        ({"bond_list": BondedInteractions(np.array([[0, 5]]))}, "row 0: the bond 0-5 names particle 5"),
    ],
)
def test_tables_made_by_hand_are_checked_alike(changes, message):
    with pytest.raises(InputError, match=re.compile(message)):
        ParticleTable(**({"id": [0, 1], "position_m": np.zeros((2, 3))} | changes))
