"""The table of validation cases: those of the flow, then those of the physics packages."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from muphy_lb.physics.table import studies
from muphy_lb.studies.validation.aorta import aorta
from muphy_lb.studies.validation.balance import balance
from muphy_lb.studies.validation.cavity import cavity
from muphy_lb.studies.validation.channel_turbulence import channel_turbulence
from muphy_lb.studies.validation.conservation import conservation
from muphy_lb.studies.validation.couette import taylor_couette
from muphy_lb.studies.validation.cylinder_flows import cylinder_flows
from muphy_lb.studies.validation.cylinders import cylinder_array, cylinder_cell
from muphy_lb.studies.validation.data_files import data_files
from muphy_lb.studies.validation.given_vessels import given_vessels
from muphy_lb.studies.validation.gmy_pipe import gmy_pipe
from muphy_lb.studies.validation.ketton import ketton
from muphy_lb.studies.validation.les import smagorinsky
from muphy_lb.studies.validation.permeability import permeability
from muphy_lb.studies.validation.permeability_error import permeability_error
from muphy_lb.studies.validation.poiseuille import pipe, plane_channel
from muphy_lb.studies.validation.poiseuille_trt import poiseuille_trt
from muphy_lb.studies.validation.pulsatile_tube import pulsatile_tube
from muphy_lb.studies.validation.record import Validation
from muphy_lb.studies.validation.rheology import rheology
from muphy_lb.studies.validation.schaefer_turek import schaefer_turek
from muphy_lb.studies.validation.settings import Settings
from muphy_lb.studies.validation.shear_layers import shear_layers
from muphy_lb.studies.validation.slip import free_slip
from muphy_lb.studies.validation.spheres import sphere_arrays
from muphy_lb.studies.validation.streaks import streaks
from muphy_lb.studies.validation.taylor_green import taylor_green
from muphy_lb.studies.validation.taylor_green_3d import taylor_green_3d
from muphy_lb.studies.validation.tilted import tilted_pipe
from muphy_lb.studies.validation.vessel import vessel
from muphy_lb.studies.validation.viscosity import viscosity_independence
from muphy_lb.studies.validation.wall_balance import wall_balance
from muphy_lb.studies.validation.wall_indices import wall_indices_of_a_pipe
from muphy_lb.studies.validation.wall_shear import wall_shear
from muphy_lb.studies.validation.womersley import womersley

# Cases that ranks may share.
SHARED = frozenset(name for table in studies() for name in table.SHARED)
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
        **{name: case for table in studies() for name, case in table.CASES.items()},
    }
)
