"""muphy_lb: sparse lattice Boltzmann flow in real vessels and rocks on many GPUs."""

__version__ = "0.1.0"
