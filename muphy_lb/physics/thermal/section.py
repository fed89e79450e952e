"""The section of the case file that makes a flow thermal."""

from typing import Literal

from muphy_lb.case.section import Positive, Section, Vector, exactly_one


class ThermalSection(Section):
    """A temperature that the flow carries and that lifts it (Boussinesq)."""

    reference_k: float
    """temperature [K] at which the fluid has its density and is not lifted; it starts with it"""
    diffusivity_m2_s: Positive | None = None
    """thermal diffusivity [m2/s]"""
    prandtl: Positive | None = None
    """Prandtl number, viscosity over diffusivity, instead"""
    gravity_m_s2: Vector = (0.0, 0.0, -9.81)
    """gravity (x, y, z) [m/s2]"""
    expansion_1_k: float | None = None
    """volumetric thermal expansion [1/K]; 0: the temperature is carried and does not lift"""
    rayleigh: Positive | None = None
    """Rayleigh number of length_m and the largest difference between walls, from which the expansion follows"""
    length_m: Positive | None = None
    """length [m] of Rayleigh and Nusselt numbers"""
    energy_coupling: float = 0.0
    """share that the equilibrium energy has of the temperature over the largest difference of walls (TheLMA: 1)"""
    method: Literal["finite-differences", "double-distribution"] = "finite-differences"
    """how the temperature advances: faster, or so that what enters is exactly what is gained"""

    @classmethod
    def rules(cls, given):
        """One diffusivity, one expansion; a Rayleigh number has a length and gravity."""
        yield from exactly_one(given, "diffusivity_m2_s", "prandtl")
        yield from exactly_one(given, "expansion_1_k", "rayleigh")
        if "rayleigh" in given and "length_m" not in given:
            yield "has rayleigh but no length_m"
        if "rayleigh" in given and not any(given.get("gravity_m_s2", (1.0,))):
            yield "has rayleigh but no gravity"
