"""The keys of a table of [[particles]] whose kind is "tracers"."""

from typing import Literal

from pydantic import NonNegativeFloat, NonNegativeInt

from muphy_lb.case.section import Box, Name, Positive, exactly_one
from muphy_lb.physics.particles.base_section import Count, ParticlesSection


class TracersSection(ParticlesSection):
    """Tracers: points that move with the flow and diffuse, and do not act on it."""

    kind: Literal["tracers"]
    """what they are"""
    count: Count | None = None
    """their number; they start evenly spread over the fluid, or where box_m or opening says"""
    box_m: Box | None = None
    """lowest and highest corner [m] of the box in which they start"""
    opening: Name | None = None
    """name of the opening at which they start, as many in each part of it as fluid enters there"""
    start_s: NonNegativeFloat = 0.0
    """time at which they start [s]"""
    rate_per_s: Positive | None = None
    """number that start per second [1/s], one after the other; without it all start at start_s"""
    diffusivity_m2_s: NonNegativeFloat = 0.0
    """diffusivity of their random walk [m2/s]"""
    walls: Literal["reflect", "stick"] = "reflect"
    """behaviour of tracers that meet a wall"""
    path_lines: NonNegativeInt = 0
    """number of tracers whose snapshots become path lines in particles_NAME_path_lines.vtkhdf"""

    @classmethod
    def rules(cls, given):
        """Check that starting positions are given in one way."""
        yield from super().rules(given)
        yield from exactly_one(given, "count", "file", "positions_m")
        places = [key for key in ("box_m", "opening", "positions_m", "file") if key in given]
        if len(places) > 1:
            yield f"has {' and '.join(places)}; give one of them"
        if given.get("path_lines") and not given.get("snapshots_every_steps"):
            yield "has path_lines, which join snapshots; give snapshots_every_steps"
