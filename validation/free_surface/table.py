"""Validation cases of free surfaces."""

from muphy_lb.validation.free_surface.contact import surface_contact
from muphy_lb.validation.free_surface.dam import dam_break
from muphy_lb.validation.free_surface.drop import surface_drop
from muphy_lb.validation.free_surface.gas_spring import surface_gas_spring
from muphy_lb.validation.free_surface.rest import surface_rest
from muphy_lb.validation.free_surface.sloshing import surface_sloshing
from muphy_lb.validation.free_surface.waves import surface_waves

SHARED = ()
CASES = {
    "surface-rest": surface_rest,
    "surface-waves": surface_waves,
    "surface-sloshing": surface_sloshing,
    "surface-gas-spring": surface_gas_spring,
    "surface-drop": surface_drop,
    "surface-contact": surface_contact,
    "dam-break": dam_break,
}
PAPERS: dict = {}
