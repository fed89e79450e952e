"""operators: one file = equation + source + specification + node function.

- The form: ``operator``, ``relaxation``, ``collision`` (relaxation x equilibrium x closure x force), ``unroll``.
- Relaxations: ``bgk``, ``trt``, ``mrt``, ``regularised``, ``recursive_regularised``, ``cumulant``, ``plane_cumulant``,
  on ``central_moments`` and ``hermite``.
- Equilibria, viscosity laws and turbulence, forces: ``equilibrium``, ``closures``, ``forces``; ``darcy`` (the drag of
  a porous medium).
- Boundaries: ``openings``, ``opening_zone`` (the collision near them), ``lumped`` (networks behind outlets),
  ``wall_rules`` (link-wise walls at any distance), ``saturation`` (walls that take up a scalar).
- ``moments``, ``viscous_stress``, ``initial``, ``observers`` (values that a collision stores), ``scalar_transport``,
  ``scalar_levels`` (scalars from the values of two steps), ``replay`` (momentum of a stored beat), ``philox`` (keyed
  random numbers).

How a collision is assembled, as the tests' smallest example does it:

    collide = collision(TRT, COMPRESSIBLE, CONSTANT, UNIFORM)         # four choices, one Operator
    collide.parameters                                                # omega, magic, force_x, force_y, force_z
    collide.reference(stored, n, lattice, {"omega": 1.2, ...})        # NumPy: the specification
    collide.compile(lattice, precision, jit)(f, n, values)            # one node: the identity, Numba or CUDA
"""

from muphy_lb.operators.bgk import BGK
from muphy_lb.operators.closures import CARREAU_YASUDA, CASSON, CONSTANT, POWER_LAW, SMAGORINSKY, Closure
from muphy_lb.operators.collision import collision, followed_by
from muphy_lb.operators.cumulant import CUMULANT
from muphy_lb.operators.darcy import drag_rates, force_with_drag, moments_with_drag
from muphy_lb.operators.equilibrium import COMPRESSIBLE, EQUILIBRIA, INCOMPRESSIBLE, STOKES, Equilibrium
from muphy_lb.operators.forces import FIELD, UNIFORM, VARYING, sum_of_forces
from muphy_lb.operators.moments import AFTER_COLLISION, BEFORE_COLLISION, OPEN, at_openings, macroscopic, where_fluid
from muphy_lb.operators.mrt import MRT, mrt, mrt_for
from muphy_lb.operators.observers import (
    MOMENTUM_FIELDS,
    STORE_VECTOR,
    STORE_VELOCITY,
    VELOCITY_FIELDS,
    VELOCITY_VECTOR,
    Observer,
)
from muphy_lb.operators.opening_zone import LAYERS, OPENING_LAYER, near_openings
from muphy_lb.operators.openings import (
    NOT_REFLECTED,
    PRESSURE,
    VELOCITY,
    link_momentum,
    oblique_shares,
    openings,
    plane_density,
    plane_of,
    reflected_shares,
    reflection,
    slanted_shares,
)
from muphy_lb.operators.operator import Operator, Parameter, in_turn, joined, named
from muphy_lb.operators.recursive_regularised import RECURSIVE_REGULARISED, RECURSIVE_REGULARISED_NEAR_WALLS
from muphy_lb.operators.regularised import REGULARISED
from muphy_lb.operators.relaxation import OMEGA, Relaxation
from muphy_lb.operators.trt import TRT
from muphy_lb.operators.wall_rules import WALL_RULES, WALLS, wall_coefficients

RELAXATIONS = {
    relaxation.name: relaxation for relaxation in (BGK, TRT, MRT, REGULARISED, RECURSIVE_REGULARISED, CUMULANT)
}
CLOSURES = {closure.name: closure for closure in (CONSTANT, SMAGORINSKY, POWER_LAW, CARREAU_YASUDA, CASSON)}
