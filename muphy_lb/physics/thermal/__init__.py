"""Thermal flow: a temperature that the flow advects and that drives it by buoyancy.

- ``section``: its keys; ``package``: its entry; ``setup``: from kelvin to parameters of the model.
- ``model``: fields and stages; ``operators/``: finite differences, populations, buoyancy.
- ``temperature``: read and set in kelvin. ``wall_gradients``, ``mid_plane``: heat through walls and midway.
- ``observers``, ``picture``: series, Nusselt numbers, pictures.
"""
