"""The case file's list of tables [[particles]], each with its kind."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import SerializeAsAny, ValidationInfo, WrapValidator

from muphy_lb.case.section import Positive, Section
from muphy_lb.case.usual import kelvins, schmidt
from muphy_lb.physics.particles.base_section import ParticlesSection
from muphy_lb.physics.particles.beads.section import BeadsSection
from muphy_lb.physics.particles.tracers.section import TracersSection

FILES = ("particles_*.csv", "particles_*.vtkhdf", "particles_*.xyz")
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


class _SchemaOfKinds:
    """The schema of a table for its readers: the keys of one of the kinds."""

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema, handler):
        schemas = ((kind, kind.__pydantic_core_schema__) for kind in KINDS.values())
        return {"anyOf": [kind.__get_pydantic_json_schema__(schema, handler) for kind, schema in schemas]}


SECTION = ParticlesSection
SECTIONS = SerializeAsAny[Annotated[ParticlesSection, WrapValidator(_of_its_kind), _SchemaOfKinds]]

USUAL = (kelvins("fluid.temperature_k"), schmidt("particles.*.diffusivity_m2_s"))
