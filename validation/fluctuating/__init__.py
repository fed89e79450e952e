"""Validation of a fluctuating fluid: laws of equilibrium statistical mechanics that it must obey. ``boxes`` sets flows
up, ``equilibrium`` checks equipartition, ``decay`` fluctuation and dissipation; ``table`` lists."""
