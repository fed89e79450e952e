"""Validation cases of particles."""

from muphy_lb.physics.particles.studies.beads_chains import bead_chains
from muphy_lb.physics.particles.studies.beads_diffusion import bead_diffusion
from muphy_lb.physics.particles.studies.beads_kirkwood import bead_kirkwood
from muphy_lb.physics.particles.studies.beads_mobility import bead_mobility
from muphy_lb.physics.particles.studies.beads_momentum import bead_momentum
from muphy_lb.physics.particles.studies.beads_tail import bead_tail
from muphy_lb.physics.particles.studies.beads_temperature import bead_temperature
from muphy_lb.physics.particles.studies.beads_translocation import bead_translocation
from muphy_lb.physics.particles.studies.dispersion import taylor_aris
from muphy_lb.physics.particles.studies.obstruction import obstructed_diffusion
from muphy_lb.physics.particles.studies.residence import residence_time

SHARED = ()
CASES = {
    "tracer-residence": residence_time,
    "tracer-dispersion": taylor_aris,
    "tracer-obstruction": obstructed_diffusion,
    "bead-temperature": bead_temperature,
    "bead-momentum": bead_momentum,
    "bead-mobility": bead_mobility,
    "bead-diffusion": bead_diffusion,
    "bead-tail": bead_tail,
    "bead-chains": bead_chains,
    "bead-kirkwood": bead_kirkwood,
    "bead-translocation": bead_translocation,
}
PAPERS: dict = {}
