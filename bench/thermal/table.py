"""Benchmarks of thermal flow."""

from muphy_lb.bench.thermal.thelma import time_thelma

PAPERS = {"thelma": time_thelma}
