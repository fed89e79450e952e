"""Validation cases of particles."""

from muphy_lb.validation.particles.beads_chains import bead_chains
from muphy_lb.validation.particles.beads_diffusion import bead_diffusion
from muphy_lb.validation.particles.beads_kirkwood import bead_kirkwood
from muphy_lb.validation.particles.beads_mobility import bead_mobility
from muphy_lb.validation.particles.beads_momentum import bead_momentum
from muphy_lb.validation.particles.beads_tail import bead_tail
from muphy_lb.validation.particles.beads_temperature import bead_temperature
from muphy_lb.validation.particles.beads_translocation import bead_translocation
from muphy_lb.validation.particles.dispersion import taylor_aris
from muphy_lb.validation.particles.obstruction import obstructed_diffusion
from muphy_lb.validation.particles.residence import residence_time

CASES = (
    residence_time,
    taylor_aris,
    obstructed_diffusion,
    bead_temperature,
    bead_momentum,
    bead_mobility,
    bead_diffusion,
    bead_tail,
    bead_chains,
    bead_kirkwood,
    bead_translocation,
)
