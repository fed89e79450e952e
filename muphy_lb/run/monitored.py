"""The quantities that the steady-state criterion looks at."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from muphy_lb.base.errors import InputError
from muphy_lb.base.registry import packages, sections
from muphy_lb.case.case import Case
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.physics.package import Physics


def monitored(view: FlowView) -> dict[str, dict[str, float]] | None:
    """The quantities of ``run.steady_watch`` by group and name, on rank 0; collective."""
    measures = {name: _measure(view, measure) for name, measure in FLOW_QUANTITIES.items()}
    for physics in view.physics:
        measures |= physics.monitored(view)
    groups = {name: measures[name]() for name in measures if name in view.case.run.steady_watch}
    return groups if view.communicator.rank == 0 else None


def refuse_to_watch_nothing(case: Case, header: GeometryHeader) -> None:
    """A steady-state criterion that can never fire must not be asked for.

    Raises:
        InputError: nothing of what it shall look at is there.
    """
    there = {"mean_speed", "permeability"}
    there |= {"flow_rates"} if header.openings else set()
    there |= {"forces"} if header.walls else set()
    kinds: tuple[type[Physics], ...] = packages(case)
    there |= {name for physics in kinds for name in physics.monitored_in(case)}
    if case.run.steady_tolerance is not None and there.isdisjoint(case.run.steady_watch):
        *others, last = ("opening", "labelled wall", *_needed_by_physics())
        raise InputError(
            f"run.steady_watch is {', '.join(case.run.steady_watch)}, but the geometry has"
            f" {', '.join(f'no {what}' for what in others)} and no {last} for it; watch mean_speed or permeability"
        )


def _needed_by_physics() -> list[str]:
    monitored = [getattr(module, "MONITORED", {}) for module in sections().values()]
    return [what for quantities in monitored for what in quantities.values()]


def _measure(view: FlowView, measure: Callable) -> Callable[[], dict[str, float]]:
    return lambda: measure(view)


def _mean_speed(view: FlowView) -> dict[str, float]:
    return {"mean_speed": view.health().mean_speed}


def _flow_rates(view: FlowView) -> dict[str, float]:
    return {name: state.flow_rate_m3_s for name, state in (view.openings() or {}).items()}


def _forces(view: FlowView) -> dict[str, float]:
    return {
        f"{name}_{axis}": component
        for name, force in (view.wall_forces() or {}).items()
        for axis, component in zip("xyz", force.force_n, strict=True)
    }


def _mean_velocity(view: FlowView) -> dict[str, float]:
    """Mean velocity [m/s] along each axis, what permeability is proportional to; the same for any number of ranks."""
    return dict(zip("xyz", view.mean_velocity_m_s().tolist(), strict=True))


FLOW_QUANTITIES: Mapping[str, Callable[[FlowView], dict[str, float]]] = MappingProxyType(
    {"mean_speed": _mean_speed, "flow_rates": _flow_rates, "forces": _forces, "permeability": _mean_velocity}
)
