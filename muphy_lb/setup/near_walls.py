"""What keeps recursive-regularised on D3Q19 stable at interpolated walls where the relaxation time is close to 1/2.

In an oblique pipe, at a lattice velocity of 0.1, it diverges with these walls below a relaxation time of 0.507; where
the Reynolds number of a voxel was below 50, no such pipe did. With the moments of
:data:`~muphy_lb.operators.RECURSIVE_REGULARISED_NEAR_WALLS` bouzidi is finite from 0.5005 on, and central-linear from
0.502 on if a tenth of it is half-way bounce-back.
"""

from collections.abc import Iterator

from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.case.lattice import LatticeSection
from muphy_lb.operators import RECURSIVE_REGULARISED, RECURSIVE_REGULARISED_NEAR_WALLS
from muphy_lb.setup.stability import MAX_CELL_REYNOLDS, SHORT_RELAXATION_TIME

BLENDED, SHORTEST_UNBLENDED = "central-linear", 0.505
"""The rule that needs half-way bounce-back besides, and the relaxation time below which it does."""

SHARE = 0.9
"""Share of that rule: a larger one diverges in narrow pipes, a smaller one makes walls less accurate."""


def wants_other_moments(section: LatticeSection, relaxation_time: float, cell_reynolds: float | None) -> bool:
    """Whether the collision of a section [lattice] is replaced by the one for the neighbourhood of walls; not where the
    Reynolds number of a voxel is known to be small."""
    name, is_interpolated = RECURSIVE_REGULARISED.name, section.walls != HALF_WAY
    is_for = section.name in RECURSIVE_REGULARISED_NEAR_WALLS.lattices
    is_slow = cell_reynolds is not None and cell_reynolds <= MAX_CELL_REYNOLDS
    is_short = relaxation_time < SHORT_RELAXATION_TIME
    return section.collision == name and is_interpolated and is_for and is_short and not is_slow


def share_of_rule(section: LatticeSection, relaxation_time: float, cell_reynolds: float | None) -> float:
    """Share of the rule ``section.walls`` in what links into walls return; the rest is half-way bounce-back."""
    is_blended = section.walls == BLENDED and relaxation_time < SHORTEST_UNBLENDED
    return SHARE if is_blended and wants_other_moments(section, relaxation_time, cell_reynolds) else 1.0


def told(section: LatticeSection, relaxation_time: float, cell_reynolds: float | None) -> Iterator[str]:
    """What is said in the log of a run where anything of this applies."""
    if not wants_other_moments(section, relaxation_time, cell_reynolds):
        return
    share, blend = share_of_rule(section, relaxation_time, cell_reynolds), ""
    if share < 1.0:
        blend = f", and that walls return {1.0 - share:g} of what half-way ones would and {share:g} of their own rule"
    yield (
        f"{section.collision} with lattice.walls = {section.walls!r} diverges at oblique walls at a relaxation time of"
        f" {relaxation_time:.5g}: what keeps it finite is that its moments of third and fourth order are others than"
        f" from {SHORT_RELAXATION_TIME} on{blend}; lattice.collision = 'mrt', or 'cumulant' on 'D3Q27', needs neither"
    )
