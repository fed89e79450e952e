"""Which beads are chains: bonded one after the other, without branches and rings."""

from collections.abc import Mapping, Sequence

import numpy as np

from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.model.model import POSITION
from muphy_lb.physics.particles.beads.start import angles_along, bond_tables
from muphy_lb.physics.particles.measures import chain_positions

NOBODY = -1


def linear_chains(count: int, bonds: np.ndarray) -> tuple[np.ndarray, ...]:
    """The chains of ``count`` beads by their bonds (m, 2): for each length an array (k, length) of ids in their order
    along the chain, from the end with the lower id; none if some bonds make branches or rings."""
    start, partner = bond_tables(count, bonds)
    n_partners = np.diff(start)
    if n_partners.max(initial=0) > 2:
        return ()
    here = np.flatnonzero(n_partners == 1)  # all ends at first, then what lies behind them
    before, so_far, found = np.full(here.size, NOBODY), [here], []
    while here.size:
        first, last = partner[start[here]], partner[start[here + 1] - 1]
        here, before = np.where(first != before, first, last), here
        so_far.append(here)
        is_end = n_partners[here] == 1
        if is_end.any():
            found.append(np.stack(so_far, axis=1)[is_end])
            so_far = [ids[~is_end] for ids in so_far]
            here, before = here[~is_end], before[~is_end]
    chains = [each[each[:, 0] < each[:, -1]] for each in found]
    in_chains = sum(each.size for each in chains)
    return tuple(each for each in chains if each.size) if in_chains == (n_partners > 0).sum() else ()


def angles_of(chains: Sequence[np.ndarray]) -> np.ndarray:
    """(k, 3) ids of all angles between bonds that follow each other along chains of any lengths."""
    return np.concatenate([np.empty((0, 3), np.int64), *map(angles_along, chains)])


def unfolded(columns: Mapping[str, np.ndarray], chains: np.ndarray, header: GeometryHeader) -> np.ndarray:
    """(k, length, 3) places of the beads of chains (k, length), voxels, each bead beside the one before it; ``columns``
    are those of all beads."""
    place = np.stack([columns[v] + columns[o] for v, o in zip(*POSITION, strict=True)], axis=1)
    place = chain_positions(place, columns["id"], chains)
    size = np.where(header.periodic, np.array(header.shape[::-1], float), np.inf)
    bonds = np.diff(place, axis=1)
    with np.errstate(invalid="ignore"):  # infinity times 0, where an axis does not wrap
        bonds = np.where(np.isfinite(size), bonds - size * np.rint(bonds / size), bonds)
    return np.concatenate((place[:, :1], place[:, :1] + np.cumsum(bonds, axis=1)), axis=1)
