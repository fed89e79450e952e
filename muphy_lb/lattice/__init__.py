"""lattice: one frozen table per velocity set."""

from muphy_lb.lattice.lattice import Lattice
from muphy_lb.lattice.sets import D2Q9, D3Q19, LATTICES, lattice_named

__all__ = ["D2Q9", "D3Q19", "LATTICES", "Lattice", "lattice_named"]
