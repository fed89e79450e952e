"""Thermal fluctuations of the flow: noise on every mode that the collision dissipates. ``section`` holds its keys,
``package`` its entry, ``operators`` covariance and noise, ``temperature`` the temperature in lattice units, as the case
gives it and as the flow shows it."""
