"""Free surface: a liquid that shares its voxels with a gas, which is not computed.

- ``section``: its keys; ``package``: its entry; ``start``: the liquid at the start; ``stability``: warnings.
- ``model``: fields and stages; ``cells``: the bits of a cell; ``operators/``: the equations.
- ``capillarity``: surface tension; ``contact_angle``: the same at walls; ``heights``: of columns there;
  ``cut``: polygons in which planes cut voxels; ``beside``: neighbours with a surface.
- ``bubbles``: regions of gas under pressure.
- ``filling``: mass, wetted walls. ``pour``: drops that are added. ``isosurface``: the surface as triangles.
- ``observers``, ``frames``: outputs; ``picture``: what a picture shows.
"""
