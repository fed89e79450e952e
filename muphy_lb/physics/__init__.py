"""physics: models that declare fields and stages."""

from muphy_lb.physics.isothermal import Fluid, isothermal
from muphy_lb.physics.model import Field, FieldValue, Model, Stage
from muphy_lb.physics.thermal.model import Heat, thermal

__all__ = ["Field", "FieldValue", "Fluid", "Heat", "Model", "Stage", "isothermal", "thermal"]
