"""Measuring: numbers of a flow in a rock or a vessel, in SI units.

- ``observer``: the contract of measurements during a run; ``flow_view``: the flow as they see it; ``monitor``: the
  contract of whatever watches a run between steps; ``records``: openings, forces, nodes, health.
- ``wall_forces``: forces on walls at an instant; ``flow_series``: openings and walls over time; ``period``: means.
- ``probes``, ``plane_shares``: points, lines, planes, segments; shares of voxels in a plane. ``node_probe``: nodes of
  all ranks. ``node_sums``: sums over all nodes.
- ``permeability``, ``permeability_observer``: rock, throats, k, and whether it has settled.
- ``rounding``: errors of a flow in half precision; ``series_mean``: mean of a series in time, and its error.
- ``displacement``: two fluids in a rock, as its commands see them; ``wall_exchange``: what passes through walls.
- ``field_snapshots``, ``pictures``: fields in files; pictures, frames and films. ``shear/``: stress at walls.
- ``at_particles``: fields where particles are, and the particles that pictures draw.
"""
