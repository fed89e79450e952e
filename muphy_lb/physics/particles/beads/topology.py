"""Which beads there are, and what is bonded to what."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.physics.particles.beads.chains import angles_of, linear_chains
from muphy_lb.physics.particles.beads.section import BeadsSection
from muphy_lb.physics.particles.beads.start import chain_bonds
from muphy_lb.physics.particles.files.table import ParticleTable

NO_BONDS, NO_ANGLES = np.empty((0, 2), np.int64), np.empty((0, 3), np.int64)


class Topology(NamedTuple):
    """Beads by their own ids, from 0 on.

    Attributes:
        n_beads: their number.
        bonds: (m, 2) ids.
        angles: (k, 3) ids, of angles that resist bending.
        chains: (k, length) ids of the chains of each length, in their order; none if there are branches or rings.
        ids: (n,) ids of their file; None if these are the own ones.
        kinds: names of the kinds that their file has; empty without any.
        kind_of_bead: (n,) numbers of these; None without any.
    """

    n_beads: int
    bonds: np.ndarray = NO_BONDS
    angles: np.ndarray = NO_ANGLES
    chains: tuple[np.ndarray, ...] = ()
    ids: np.ndarray | None = None
    kinds: tuple[str, ...] = ()
    kind_of_bead: np.ndarray | None = None


def topology_of(section: BeadsSection, found: ParticleTable | None) -> Topology:
    """The beads of a table of the case, or of its file.

    Raises:
        InputError: the file has bonds, or angles, and the table does not say their force, or the other way round.
    """
    if found is not None:
        return _of_file(section, found)
    if section.chains is None:
        return Topology(section.count or 0)
    length = section.beads_per_chain or 0
    count = section.chains * length
    return Topology(count, *chain_bonds(section.chains, length), (np.arange(count).reshape(-1, length),))


def _of_file(section: BeadsSection, found: ParticleTable) -> Topology:
    order = np.argsort(found.id)
    ids = found.id[order]
    kinds, kind_of_bead = np.empty(0, str), None
    if found.kind is not None:
        kinds, kind_of_bead = np.unique(found.kind[order], return_inverse=True)
    bonds = np.searchsorted(ids, found.bonds)
    if len(bonds) and section.bonds is None:
        raise InputError(f"particles.{section.name} has bonds in its file but no table bonds that says their force")
    if section.bonds is not None and not len(bonds):
        raise InputError(
            f"particles.{section.name}.bonds is given, and no bonds are listed; list them in the file or in bonds_file,"
            " or remove bonds"
        )
    chains = linear_chains(ids.size, bonds)
    angles = np.searchsorted(ids, found.angles) if len(found.angles) else angles_of(chains)
    if section.bending_j is not None and not len(angles):
        raise InputError(
            f"particles.{section.name}.bending_j is given, and no angles are listed, nor are there chains of three"
            " beads or more without branches, whose angles are known; list them, or remove bending_j"
        )
    return Topology(ids.size, bonds, angles, chains, ids, tuple(map(str, kinds)), kind_of_bead)


def without_effect(section: BeadsSection, found: ParticleTable) -> Iterator[str]:
    """What a file tells apart, and the table does not; one sentence each."""
    kinds = {
        "beads": (found.kind, "mass, friction and forces"),
        "bonds": (found.bond_kind, "force"),
        "angles": (found.angle_kind if section.bending_j is not None else None, "resistance to bending"),
    }
    for what, (names, shared) in kinds.items():
        n_kinds = 0 if names is None else len(np.unique(names))
        if n_kinds > 1:
            yield f"the file has {what} of {n_kinds} kinds, which all have the same {shared}"
    if len(found.angles) and section.bending_j is None:
        yield f"the file lists angles ({len(found.angles):,}), and nothing resists bending without bending_j"
