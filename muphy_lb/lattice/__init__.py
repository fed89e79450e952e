"""lattice: one frozen table per velocity set, and one per basis of moments."""

from muphy_lb.lattice.bases import BASES, FAMILIES, MomentBasis
from muphy_lb.lattice.lattice import Lattice
from muphy_lb.lattice.sets import D2Q9, D3Q15, D3Q19, D3Q27, LATTICES, lattice_named

__all__ = [
    "BASES",
    "D2Q9",
    "D3Q15",
    "D3Q19",
    "D3Q27",
    "FAMILIES",
    "LATTICES",
    "Lattice",
    "MomentBasis",
    "lattice_named",
]
