"""physics: models that declare fields and stages; one package below for each physics beside isothermal flow."""

import importlib

_HOME = {
    "Field": "model",
    "FieldValue": "model",
    "Model": "model",
    "ParticleSet": "model",
    "Stage": "model",
    "Fluid": "isothermal",
}
__all__ = ["Field", "FieldValue", "Fluid", "Model", "ParticleSet", "Stage"]


def __getattr__(name):
    """Import models only when they are asked for: the case file needs the packages' sections alone."""
    if name in __all__:
        return getattr(importlib.import_module(f"muphy_lb.physics.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
