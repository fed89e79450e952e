"""Tracers of the validation cases: their tables, and what is measured of them."""

import numpy as np

from muphy_lb.measure.flow_view import on_root
from muphy_lb.physics.particles.tracers.observers import TracerStatistics, tracer_statistics
from muphy_lb.run.solver import Solver

NAME = "tracers"


def tracers(count: int, diffusivity: float = 0.0, name: str = NAME, **keys) -> dict:
    """A table [[particles]] of tracers in lattice units."""
    return {"name": name, "kind": "tracers", "count": count, "diffusivity_m2_s": diffusivity, **keys}


def statistics(simulation: Solver, name: str = NAME) -> TracerStatistics:
    """The statistics of tracers, on rank 0."""
    particles = on_root(simulation.particles())
    openings = [opening.name for opening in simulation.header.openings]
    return tracer_statistics(particles[name], openings, simulation.units)


def growth_rates(simulation: Solver, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Velocity (3,) of the mean of tracers, and half the rate (3,) at which the variance of their displacement grows,
    in the next ``n_steps`` steps; lattice units."""
    before = statistics(simulation)
    simulation.step(n_steps)
    after = statistics(simulation)
    velocity = (after.displacement_m - before.displacement_m) / n_steps
    return velocity, 0.5 * (after.variance_m2 - before.variance_m2) / n_steps
