"""Viscous dissipation of the flow as a physics package. ``section`` holds its keys, ``package`` its entry, ``operator``
the equation, ``observers`` the power over time."""
