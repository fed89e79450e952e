"""``muphy-lb new``: a commented case file for a vessel, a rock or a channel; here its kinds of flow and its fluids.

- ``command``, ``options``: the command and its prompts. ``kinds``: tables of each kind, doubts about them; ``sizing``:
  voxel edge, time step, forces; ``circulation``: a beating heart; ``text``: the file with its comments.
- ``examples``: ``muphy-lb examples``; ``slurm``: ``muphy-lb slurm``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

KINDS = ("vessel", "rock", "channel")


class Substance(NamedTuple):
    """A fluid: density [kg/m3] and kinematic viscosity [m2/s]."""

    density_kg_m3: float
    kinematic_viscosity_m2_s: float


BLOOD = "blood"
FLUIDS: Mapping[str, Substance] = MappingProxyType(
    {BLOOD: Substance(1060.0, 3.3e-6), "water": Substance(1000.0, 1e-6), "air": Substance(1.2, 1.5e-5)}
)
"""Blood at high shear rate; water and air at about 20 degrees Celsius."""

THINNING_BLOOD: Mapping[str, float] = MappingProxyType(
    {
        "zero_viscosity_m2_s": 1.509e-4,
        "infinite_viscosity_m2_s": 3.302e-6,
        "relaxation_time_s": 8.2,
        "transition": 0.64,
        "index": 0.2128,
    }
)
"""Carreau-Yasuda's law of human blood as HemeLB has it (CarreauYasudaRheologyModel: 0.16 and 0.0035 Pa s), by the
density of blood."""
