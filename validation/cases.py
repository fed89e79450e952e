"""The table of validation cases: those of the flow, then those of the physics packages."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from muphy_lb.base.registry import tables
from muphy_lb.validation.flow.aorta import aorta
from muphy_lb.validation.flow.balance import balance
from muphy_lb.validation.flow.cavity import cavity
from muphy_lb.validation.flow.channel_turbulence import channel_turbulence
from muphy_lb.validation.flow.conservation import conservation
from muphy_lb.validation.flow.couette import taylor_couette
from muphy_lb.validation.flow.cylinder_flows import cylinder_flows
from muphy_lb.validation.flow.cylinders import cylinder_array, cylinder_cell
from muphy_lb.validation.flow.data_files import data_files
from muphy_lb.validation.flow.given_vessels import given_vessels
from muphy_lb.validation.flow.gmy_pipe import gmy_pipe
from muphy_lb.validation.flow.ketton import ketton
from muphy_lb.validation.flow.les import smagorinsky
from muphy_lb.validation.flow.permeability import permeability
from muphy_lb.validation.flow.permeability_error import permeability_error
from muphy_lb.validation.flow.poiseuille import pipe, plane_channel
from muphy_lb.validation.flow.poiseuille_trt import poiseuille_trt
from muphy_lb.validation.flow.pulsatile_tube import pulsatile_tube
from muphy_lb.validation.flow.rheology import rheology
from muphy_lb.validation.flow.schaefer_turek import schaefer_turek
from muphy_lb.validation.flow.shear_layers import shear_layers
from muphy_lb.validation.flow.slip import free_slip
from muphy_lb.validation.flow.spheres import sphere_arrays
from muphy_lb.validation.flow.streaks import streaks
from muphy_lb.validation.flow.taylor_green import taylor_green
from muphy_lb.validation.flow.taylor_green_3d import taylor_green_3d
from muphy_lb.validation.flow.tilted import tilted_pipe
from muphy_lb.validation.flow.vessel import vessel
from muphy_lb.validation.flow.viscosity import viscosity_independence
from muphy_lb.validation.flow.wall_balance import wall_balance
from muphy_lb.validation.flow.wall_indices import wall_indices_of_a_pipe
from muphy_lb.validation.flow.wall_shear import wall_shear
from muphy_lb.validation.flow.womersley import womersley
from muphy_lb.validation.record import Validation
from muphy_lb.validation.settings import Settings

# Cases that ranks may share.
SHARED = frozenset(name for table in tables("muphy_lb.validation") for name in table.SHARED)
CASES: Mapping[str, Callable[[Settings], Validation]] = MappingProxyType(
    {
        "plane-channel": plane_channel,
        "pipe": pipe,
        "conservation": conservation,
        "balance": balance,
        "wall-balance": wall_balance,
        "permeability": permeability,
        "permeability-error": permeability_error,
        "ketton": ketton,
        "vessel": vessel,
        "poiseuille-trt": poiseuille_trt,
        "cylinder-cell": cylinder_cell,
        "cylinder-array": cylinder_array,
        "viscosity-independence": viscosity_independence,
        "tilted-pipe": tilted_pipe,
        "sphere-arrays": sphere_arrays,
        "gmy-pipe": gmy_pipe,
        "data": data_files,
        "wall-shear": wall_shear,
        "wall-indices": wall_indices_of_a_pipe,
        "aorta": aorta,
        "given-vessels": given_vessels,
        "taylor-couette": taylor_couette,
        "cavity": cavity,
        "schaefer-turek": schaefer_turek,
        "cylinder-flows": cylinder_flows,
        "taylor-green": taylor_green,
        "taylor-green-3d": taylor_green_3d,
        "shear-layers": shear_layers,
        "streaks": streaks,
        "channel-turbulence": channel_turbulence,
        "womersley": womersley,
        "pulsatile-tube": pulsatile_tube,
        "rheology": rheology,
        "free-slip": free_slip,
        "smagorinsky": smagorinsky,
        **{name: case for table in tables("muphy_lb.validation") for name, case in table.CASES.items()},
    }
)
