"""The table of validation cases: those of the flow, then those of the physics packages."""

from collections.abc import Mapping

from muphy_lb.base.registry import tables
from muphy_lb.validation.case import Case
from muphy_lb.validation.flow.balance import balance
from muphy_lb.validation.flow.cavity import cavity
from muphy_lb.validation.flow.channel_turbulence import channel_turbulence, streaks
from muphy_lb.validation.flow.channels import pipe, plane_channel, poiseuille_trt
from muphy_lb.validation.flow.conservation import conservation, vessel, wall_balance
from muphy_lb.validation.flow.couette import free_slip, taylor_couette
from muphy_lb.validation.flow.cylinders import cylinder_array, cylinder_cell
from muphy_lb.validation.flow.data_files import data_files
from muphy_lb.validation.flow.ketton import ketton
from muphy_lb.validation.flow.openings import openings
from muphy_lb.validation.flow.permeability import permeability, viscosity_independence
from muphy_lb.validation.flow.permeability_error import permeability_error
from muphy_lb.validation.flow.pipes import gmy_pipe, tilted_pipe, wall_indices_of_a_pipe, wall_shear
from muphy_lb.validation.flow.rheology import rheology, smagorinsky
from muphy_lb.validation.flow.schaefer_turek import cylinder_flows, schaefer_turek
from muphy_lb.validation.flow.spheres import sphere_arrays
from muphy_lb.validation.flow.vessels import aorta, given_vessels
from muphy_lb.validation.flow.vortices import shear_layers, taylor_green, taylor_green_3d
from muphy_lb.validation.flow.womersley import pulsatile_tube, womersley

FLOW = (
    *(plane_channel, pipe, conservation, balance, wall_balance, permeability, permeability_error, ketton, vessel),
    *(poiseuille_trt, cylinder_cell, cylinder_array, viscosity_independence, tilted_pipe, sphere_arrays, gmy_pipe),
    *(data_files, wall_shear, wall_indices_of_a_pipe, aorta, given_vessels, taylor_couette, cavity, schaefer_turek),
    *(cylinder_flows, taylor_green, taylor_green_3d, shear_layers, streaks, channel_turbulence, womersley),
    *(pulsatile_tube, rheology, free_slip, smagorinsky, openings),
)
TABLES = tables("muphy_lb.validation")
SHARED = frozenset(name for table in TABLES for name in getattr(table, "SHARED", ()))  # cases that ranks may share
CASES: Mapping[str, Case] = {case.name: case for case in (*FLOW, *(case for table in TABLES for case in table.CASES))}
