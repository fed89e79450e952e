"""scaling: parallel scaling of a case, and extrapolation to larger machines."""
