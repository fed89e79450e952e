"""What the case file says of particles: the list of tables [[particles]], each with its kind."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import SerializeAsAny, ValidationInfo, WrapValidator

from muphy_lb.case.section import Positive, Section
from muphy_lb.physics.particles.base_section import ParticlesSection
from muphy_lb.physics.particles.beads.section import BeadsSection
from muphy_lb.physics.particles.tracers.section import TracersSection

FILES = ("particles_*.csv", "particles_*.vtkhdf")
KINDS: dict[str, type[ParticlesSection]] = {"tracers": TracersSection, "beads": BeadsSection}


class FluidKeys(Section):
    """Keys of the fluid."""

    temperature_k: Positive | None = None
    """temperature [K] of the fluctuations of [fluctuating], and of beads in [[particles]]"""


def _of_its_kind(data, handler, info: ValidationInfo):
    """The section of the kind that a table names; without one nothing but its kind and its name can be judged."""
    if not isinstance(data, Mapping):
        return handler(data)
    kind = data.get("kind")
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind].model_validate(data, context=info.context)
    return handler({key: value for key, value in data.items() if key in ParticlesSection.model_fields})


SECTION = ParticlesSection
SECTIONS = SerializeAsAny[Annotated[ParticlesSection, WrapValidator(_of_its_kind)]]
