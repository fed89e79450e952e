"""operators: one file = equation + source + specification + node function."""

from muphy_lb.operators.bgk import BGK
from muphy_lb.operators.moments import MACROSCOPIC
from muphy_lb.operators.openings import OPENINGS, PRESSURE, VELOCITY, link_momentum
from muphy_lb.operators.operator import Operator

COLLISIONS = {operator.name: operator for operator in (BGK,)}

__all__ = ["BGK", "COLLISIONS", "MACROSCOPIC", "OPENINGS", "PRESSURE", "VELOCITY", "Operator", "link_momentum"]
