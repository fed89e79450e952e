"""muphy_lb: sparse lattice Boltzmann flow in real vessels and rocks on many GPUs."""

__version__ = "0.5.0"
__all__ = ["Simulation"]


def __getattr__(name):
    """Import the solver only when it is asked for: commands that refuse bad input must not wait for it."""
    if name == "Simulation":
        from muphy_lb.run.simulation import Simulation

        return Simulation
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
