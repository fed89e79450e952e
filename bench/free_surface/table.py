"""Benchmarks of flow with a free surface."""

from muphy_lb.bench.free_surface.schreiber import time_schreiber

PAPERS = {"schreiber": time_schreiber}
