"""The section of the case file about the state that a flow starts from."""

from muphy_lb.base.registry import key_classes
from muphy_lb.case.section import Positive, Section, Vector

ALTERNATIVES = (
    ("velocity_m_s", "velocity_file"),
    ("pressure_pa", "pressure_file", "density_kg_m3", "density_file"),
)


class _Start(Section):
    """The keys that every flow has."""

    velocity_m_s: Vector | None = None
    """velocity (x, y, z) [m/s] everywhere"""
    velocity_file: str | None = None
    """velocity [m/s] at every node: .npy, .vti or .vtkhdf, relative to the case file"""
    pressure_pa: float | None = None
    """pressure [Pa] relative to the reference pressure, everywhere"""
    pressure_file: str | None = None
    """pressure [Pa] at every node, as velocity_file"""
    density_kg_m3: Positive | None = None
    """density [kg/m3] everywhere, instead of the pressure"""
    density_file: str | None = None
    """density [kg/m3] at every node, as velocity_file"""
    file: str | None = None
    """fields.vtkhdf of an earlier run, on any grid: all fields of its last snapshot that no other key gives"""
    stress: bool = True
    """whether the populations have the viscous stress of the velocity field"""
    consistent_pressure: bool = False
    """compute the pressure from the velocity (Mei et al. 2006), so that no sound starts; without openings"""


class InitialSection(*key_classes("InitialKeys"), _Start):  # type: ignore[misc]  # bases are known at run time
    """The state that the flow starts from instead of rest; openings rise from rest unless run.ramp_steps is 0."""

    @classmethod
    def rules(cls, given):
        """Each field is given once; a pressure that is computed is not given."""
        yield from super().rules(given)
        for keys in ALTERNATIVES:
            there = [key for key in keys if key in given]
            if len(there) > 1:
                yield f"has {' and '.join(there)}; give one of them"
        if given.get("consistent_pressure") is True:
            there = [key for key in ALTERNATIVES[1] if key in given]
            if there:
                yield f"has consistent_pressure and {there[0]}; give one of them"
