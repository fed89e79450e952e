"""Damaged files of particles end in a table or in one plain message."""

import random
import warnings

import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.physics.particles.files.read import read_bonds, read_particles
from tests.fuzz import hostile

N_FILES = 60
SAMPLES = {
    "a.csv": "id,kind,x_m,y_m,z_m,vx_m_s,vy_m_s,vz_m_s\n7,red,1e-6,2e-6,3e-6,1,2,3\n5,blue,0,0,0,-1,0,0\n",
    "bonds.csv": "id_1,id_2,kind\n1,2,a\n3,2,b\n",
    "a.xyz": "2\nProperties=species:S:1:pos:R:3:id:I:1:velo:R:3\nA 1 2 3 4 5 6 7\nB 2 3 4 5 6 7 8\n1\n\nC 0 0 0\n",
    "a.data": (
        "title\n\n2 atoms\n1 bonds\n\n0 9 xlo xhi\n\nAtoms # full\n\n1 1 1 0 1 2 3\n2 1 1 0 4 5 6\n\nBonds\n\n1 1 1 2\n"
    ),
}
UNITS = {"a.csv": (None, None), "a.xyz": (1e-10, 1e-15), "a.data": (1e-10, 1e-15)}


def damaged(text, draw):
    """The text with bytes mangled, or with some words replaced by hostile ones."""
    if draw.random() < 0.4:
        return hostile.mangled(text.encode(), draw)
    separator = "," if "," in text else " "
    words = text.split(separator)
    for _ in range(draw.choice((1, 1, 2, 4))):
        hostile_words = (hostile.number(draw), draw.choice(hostile.NUMBERS), "²", "\0", "", "9" * 5000)
        words[draw.randrange(len(words))] = str(draw.choice(hostile_words))
    return separator.join(words).encode("utf-8", "replace")


@pytest.mark.parametrize("name", SAMPLES)
def test_damaged_files_end_in_a_table_or_a_message(tmp_path, name):
    n_refused = 0
    for seed in range(N_FILES):
        draw = random.Random(seed)
        path = tmp_path / name
        path.write_bytes(damaged(SAMPLES[name], draw))
        try:
            with warnings.catch_warnings(action="error"):
                if name == "bonds.csv":
                    read_bonds(path)
                else:
                    read_particles(path, 1e-6, *UNITS[name], frame=draw.choice((0, 1, -1)) if name == "a.xyz" else 0)
        except InputError as error:
            n_refused += 1
            assert str(error).isprintable() and len(str(error)) < 1000
    assert 0 < n_refused < N_FILES
