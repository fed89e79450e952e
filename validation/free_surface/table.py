"""Validation cases of free surfaces."""

from muphy_lb.validation.free_surface.drops import surface_contact, surface_drop
from muphy_lb.validation.free_surface.faraday import surface_faraday
from muphy_lb.validation.free_surface.films import surface_film
from muphy_lb.validation.free_surface.oscillations import surface_gas_spring, surface_sloshing, surface_waves
from muphy_lb.validation.free_surface.shaking import surface_shaking
from muphy_lb.validation.free_surface.slits import surface_suction
from muphy_lb.validation.free_surface.spreading import surface_spreading
from muphy_lb.validation.free_surface.tanks import dam_break, dry_bed, surface_rest
from muphy_lb.validation.free_surface.threads import surface_thread

CASES = (
    surface_rest,
    surface_film,
    surface_spreading,
    surface_thread,
    surface_waves,
    surface_sloshing,
    surface_shaking,
    surface_faraday,
    surface_gas_spring,
    surface_drop,
    surface_contact,
    surface_suction,
    dam_break,
    dry_bed,
)
