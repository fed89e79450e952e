"""partition: assigns the nodes of a graph to ranks; independent of the lattice-Boltzmann method.

From Python: :func:`share` shares the fluid of an image among ranks, and measures how well.

- ``partition``: the owner of each node, and the automatic choice; ``methods``: METIS, Cartesian cuts; ``curve``: the
  Hilbert curve; ``tiles``: the graph of cubes of voxels, on which large graphs are cut.
- ``graph``, ``voxels``: nodes and links; ``costs``: costs of nodes and messages, weights; ``halo``, ``quality``: loads.
- ``store``: partitionings in ``CASE.h5``; ``errors``.
"""

from importlib import import_module

__all__ = ["Sharing", "share"]


def __getattr__(name: str):
    """Import what is exported only when it is asked for: most modules need but a part of the package."""
    if name in __all__:
        return getattr(import_module("muphy_lb.partition.partition"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted((*globals(), *__all__))
