"""A solid that dissolves or grows as a physics package (:mod:`muphy_lb.physics.package`). During a run it stays as it
is at the start; ``muphy-lb dissolve`` moves it between steady flows."""

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import Units
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.model.flow import Flow
from muphy_lb.physics.dissolution.section import KEY
from muphy_lb.physics.package import Physics


class Dissolution(Physics):
    """A solid whose surface is a wall of the flow."""

    name = KEY
    excludes = frozenset({"thermal", "fluctuating", "particles", "free_surface", "two_fluid"})
    goes_on_in_frozen_flow = True

    def __init__(self, case, header: GeometryHeader, units: Units):
        if case.lattice.walls == HALF_WAY:
            raise InputError(
                f"lattice.walls is {HALF_WAY!r} with [{KEY}], whose surface lies anywhere on its links:"
                " set lattice.walls = 'bouzidi'"
            )
        self._section = case.dissolution

    def extend(self, flow: Flow) -> Flow:
        """The flow as it is."""
        return flow

    def describe(self) -> str:
        """Solid and species, as text."""
        return (
            f"dissolution: {self._section.wall} by {self._section.species}, its {self._section.role}; at rest in a run"
        )


PHYSICS = Dissolution
