"""Validation cases of particles."""

from muphy_lb.validation.particles.beads_chains import bead_chains, bead_kirkwood, bead_translocation
from muphy_lb.validation.particles.beads_equilibrium import bead_momentum, bead_temperature
from muphy_lb.validation.particles.beads_motion import bead_diffusion, bead_mobility, bead_tail
from muphy_lb.validation.particles.packs import pack_dispersion
from muphy_lb.validation.particles.tracers import obstructed_diffusion, residence_time, taylor_aris

CASES = (
    residence_time,
    taylor_aris,
    obstructed_diffusion,
    pack_dispersion,
    bead_temperature,
    bead_momentum,
    bead_mobility,
    bead_diffusion,
    bead_tail,
    bead_chains,
    bead_kirkwood,
    bead_translocation,
)
