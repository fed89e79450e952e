"""physics: models that declare fields and stages."""

from muphy_lb.physics.isothermal import Fluid, isothermal
from muphy_lb.physics.model import Model, Stage

__all__ = ["Fluid", "Model", "Stage", "isothermal"]
