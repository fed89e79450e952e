"""operators: one file = equation + source + specification + node function."""

from muphy_lb.operators.bgk import BGK
from muphy_lb.operators.closures import CONSTANT, Closure
from muphy_lb.operators.collision import collision
from muphy_lb.operators.equilibrium import COMPRESSIBLE, EQUILIBRIA, INCOMPRESSIBLE, STOKES, Equilibrium
from muphy_lb.operators.forces import FIELD, UNIFORM, VARYING
from muphy_lb.operators.moments import macroscopic
from muphy_lb.operators.mrt import MRT, mrt, mrt_for
from muphy_lb.operators.observers import KEEP_VELOCITY, Observer
from muphy_lb.operators.openings import PRESSURE, VELOCITY, link_momentum, openings
from muphy_lb.operators.operator import Operator
from muphy_lb.operators.regularised import REGULARISED
from muphy_lb.operators.relaxation import Relaxation
from muphy_lb.operators.rheology import CARREAU_YASUDA, CASSON, POWER_LAW
from muphy_lb.operators.smagorinsky import SMAGORINSKY
from muphy_lb.operators.trt import TRT
from muphy_lb.operators.wall_rules import WALL_RULES, WALLS, wall_coefficients

RELAXATIONS = {relaxation.name: relaxation for relaxation in (BGK, TRT, MRT, REGULARISED)}
CLOSURES = {closure.name: closure for closure in (CONSTANT, SMAGORINSKY, POWER_LAW, CARREAU_YASUDA, CASSON)}

__all__ = [
    "BGK",
    "CARREAU_YASUDA",
    "CASSON",
    "CLOSURES",
    "COMPRESSIBLE",
    "CONSTANT",
    "EQUILIBRIA",
    "FIELD",
    "INCOMPRESSIBLE",
    "KEEP_VELOCITY",
    "MRT",
    "POWER_LAW",
    "PRESSURE",
    "REGULARISED",
    "RELAXATIONS",
    "SMAGORINSKY",
    "STOKES",
    "TRT",
    "UNIFORM",
    "VARYING",
    "VELOCITY",
    "WALLS",
    "WALL_RULES",
    "Closure",
    "Equilibrium",
    "Observer",
    "Operator",
    "Relaxation",
    "collision",
    "link_momentum",
    "macroscopic",
    "mrt",
    "mrt_for",
    "openings",
    "wall_coefficients",
]
