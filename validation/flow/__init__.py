"""Validation cases of flow.

- Channels and pipes: ``channels``, ``pipes``, ``couette``, ``rheology``, ``womersley``, ``channel_turbulence``,
  ``openings``.
- Bodies: ``cavity``, ``schaefer_turek``, ``cylinders``, ``spheres``, ``vortices``.
- Rocks and vessels: ``permeability``, ``permeability_error``, ``ketton``, ``vessels``, ``data_files``.
- Conservation: ``conservation``, ``balance``.
"""
