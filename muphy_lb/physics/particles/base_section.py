"""The keys that every table of [[particles]] has."""

from typing import Annotated

from pydantic import AfterValidator, Field, NonNegativeInt

from muphy_lb.case.section import Section
from muphy_lb.case.values import Name

LARGEST_SEED = 2**63 - 1
MOST = 2**31 - 1
"""Particles of a set, whose ids have 32 bits."""

Count = Annotated[int, Field(gt=0, le=MOST)]
KINDS = ("tracers", "beads")


def _known_kind(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"must be {' or '.join(map(repr, KINDS))}")
    return kind


class ParticlesSection(Section):
    """Particles in the flow, a table for each kind of them."""

    name: Name
    """letters, digits, _ and -, a letter first; the name in every output"""
    kind: Annotated[str, AfterValidator(_known_kind)]
    """what they are"""
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 1
    """number that chooses their places and their random motion; runs with different seeds are independent"""
    snapshots_every_steps: NonNegativeInt = 0
    """steps between two snapshots of all of them in particles_NAME.vtkhdf; 0 for none"""
