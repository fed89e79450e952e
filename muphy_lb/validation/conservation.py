"""Mass of a closed domain: walls of any roughness and a body force must not change it."""

from muphy_lb.validation.flows import forced_flow
from muphy_lb.validation.record import Validation, absolute

CITATION = "bounce-back, streaming and collision conserve mass exactly; what remains is round-off"
TOLERANCES = {"fp64": 1e-12, "fp32": 1e-6}
EDGE, POROSITY, SEED = 16, 0.5, 1
FORCE = (1e-5, 2e-5, -1e-5)
N_STEPS = 10_000


def conservation(quick: bool = False) -> Validation:
    """Relative change of the mass of a random periodic rock over 10,000 steps; quick: double precision only."""
    precisions = ("fp64",) if quick else TOLERANCES
    rows = (
        absolute(f"relative mass change in {N_STEPS} steps, {p}", 0.0, mass_drift(p), TOLERANCES[p]) for p in precisions
    )
    return Validation("conservation", CITATION, tuple(rows))


def mass_drift(precision: str, n_steps: int = N_STEPS) -> float:
    """Relative change of the mass of a force-driven flow through random solid voxels."""
    options = {"shape_zyx": [EDGE] * 3, "porosity": POROSITY, "seed": SEED}
    simulation = forced_flow({"shape": "random_solid", "options": options}, 0.8, FORCE, precision=precision)
    simulation.step(n_steps)
    return simulation.health().mass_drift
