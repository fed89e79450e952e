"""geometry: from an image or a surface of a vessel or a rock to numbered fluid nodes; independent of physics and
ranks.

From Python: :func:`read` and :func:`voxelise` make a :class:`Geometry`, which finds openings and draws itself.

- ``source``: Geometry in Python; ``load``: any input to Voxels; ``voxels``, ``slabs``: the segmented image;
  ``inspection``, ``clean``; ``axes``, ``repeats``: periodicity.
- Inputs: ``images/``, ``surfaces/``, ``shapes/``, ``porous/``, ``tagged``, ``gmy``; ``openings/``.
- ``nodes``, ``search``, ``neighbours``: numbered nodes; ``store``: ``CASE.h5``.
- ``displaced_wall``, ``rotation``, ``labels``, ``link_cuts``, ``wall_areas``, ``implicit``: walls and geometries that
  are moved, labelled walls, true distances along links, true areas; ``solid_place``, ``moving_solid``: a solid
  that loses or gains volume.
- ``limits``: claims of inputs; ``options``, ``quantities``: checked options, numbers with units; ``errors``.
"""

from importlib import import_module

__all__ = ["Geometry", "read", "voxelise"]


def __getattr__(name: str):
    """Import what is exported only when it is asked for: most modules need but a part of the package."""
    if name in __all__:
        return getattr(import_module("muphy_lb.geometry.source"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted((*globals(), *__all__))
