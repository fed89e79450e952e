"""Studies of a fluctuating fluid: laws of equilibrium statistical mechanics that it must obey."""
