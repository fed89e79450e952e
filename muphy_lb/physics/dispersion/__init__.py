"""Dispersion: how a flow in a periodic box spreads what is dissolved in it, as a physics package. ``section`` holds its
keys, ``package`` the equation that is solved, ``observers`` the coefficients over time and at the end."""
