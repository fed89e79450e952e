"""Validation cases of particles."""

from muphy_lb.physics.particles.studies.dispersion import taylor_aris
from muphy_lb.physics.particles.studies.obstruction import obstructed_diffusion
from muphy_lb.physics.particles.studies.residence import residence_time

SHARED = ()
CASES = {
    "tracer-residence": residence_time,
    "tracer-dispersion": taylor_aris,
    "tracer-obstruction": obstructed_diffusion,
}
PAPERS: dict = {}
