"""Particles and bonds from the files that a user names."""

from pathlib import Path

from muphy_lb.base.errors import InputError
from muphy_lb.case.section import did_you_mean
from muphy_lb.geometry.limits import shown
from muphy_lb.physics.particles.files import csv_table
from muphy_lb.physics.particles.files.extxyz_table import read_extxyz_particles
from muphy_lb.physics.particles.files.lammps import read_lammps_particles
from muphy_lb.physics.particles.files.table import BondedInteractions, ParticleTable
from muphy_lb.physics.particles.files.text import check_reach
from muphy_lb.physics.particles.files.units import FileUnits

CSV, XYZ, LAMMPS = (".csv",), (".xyz", ".extxyz"), (".data", ".lmp")
SUFFIXES = (*CSV, *XYZ, *LAMMPS)
"""Endings of the files that are read."""


def read_particles(
    path,
    spacing_m: float,
    length_unit_m: float | None = None,
    time_unit_s: float | None = None,
    frame: int = 0,
    velocities: bool = True,
) -> ParticleTable:
    """Particles of a file, by the ending of its name.

    ``.csv``: headings x_m, y_m, z_m, and if wanted id, vx_m_s, vy_m_s, vz_m_s, kind; bonds are in a file of their own
    (:func:`read_bonds`). ``.xyz``, ``.extxyz``: a frame of an extended XYZ file. ``.data``, ``.lmp``: a LAMMPS data
    file with atoms of style atomic, bond, molecular or full.

    Args:
        path: the file.
        spacing_m: edge of a voxel, by which a wrong unit of length is noticed [m].
        length_unit_m: metres in a unit of length of the file, such as 1e-10 for angstroms. Needed unless the file
            states it, as CSV files do by their headings and extended XYZ files of this program do.
        time_unit_s: seconds in a unit of time of the file, likewise; needed where the file holds velocities.
        frame: number of the frame of an XYZ file from 0 on; negative ones count from the end.
        velocities: whether velocities are read; those of a file of another program need a unit of time.

    Raises:
        InputError: the file cannot be read, is of another form, or its particles are not sound.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"particles in {path}: unknown ending {shown(suffix)}; {did_you_mean(suffix, SUFFIXES)}")
    units = FileUnits(length_unit_m, time_unit_s)
    if frame != 0 and suffix not in XYZ:
        raise InputError(f"particles in {path}: frame is {frame}; only files {' and '.join(XYZ)} have frames")
    if suffix in CSV:
        units.agreed(FileUnits(1.0, 1.0), path)
        table = csv_table.read_csv_particles(path)
    elif suffix in XYZ:
        table = read_extxyz_particles(path, units, frame, velocities)
    else:
        table = read_lammps_particles(path, units, velocities)
    check_reach(table.position_m, spacing_m, table.source)
    return table


def read_bonds(path) -> BondedInteractions:
    """Bonds of a CSV file: headings id_1, id_2, and if wanted kind; for :meth:`ParticleTable.with_bonds`.

    Raises:
        InputError: the file cannot be read or is of another form.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in CSV:
        raise InputError(f"bonds in {path}: unknown ending {shown(suffix)}; allowed: {', '.join(CSV)}")
    return csv_table.read_bonds(path)
