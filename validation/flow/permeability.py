"""Permeability of voxel images, in voxel edges squared, and of a porous block at many viscosities.

k = nu <u> / F, with <u> the mean over the whole section, solid included. BGK at Lambda = (tau - 1/2)^2 = 3/16 puts a
half-way wall exactly half-way, and gives the permeability of any scheme with that Lambda. At other viscosities it
drifts with one relaxation time, and is constant with two. The images are files of ``$MUPHY_DATA``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from muphy_lb.base.units import CS2, viscosity
from muphy_lb.validation import flows
from muphy_lb.validation.case import DEFAULT, Settings, absolute, at_least, case, data_folder, relative
from muphy_lb.validation.limits import left_out_rules, possible_rules
from muphy_lb.validation.plot import Plot, Series

RELAXATION_TIME = 0.5 + np.sqrt(3.0 / 16.0)
FORCE, STEADY, TOLERANCE = 1e-6, 1e-6, 0.01
RELAXATION_TIMES, QUICK_RELAXATION_TIMES = (0.6, 0.8, 1.0, 1.5, 2.0), (0.6, 1.0, 2.0)
SIZE, QUICK_SIZE, RADIUS_OVER_SIZE = 32, 16, 0.1875
POROSITY, SEED = 0.5, 1
METHODS = {  # name: (wall rule, collision)
    "TRT, half-way": ("half-way", "trt"),
    "TRT, central-linear": ("central-linear", "trt"),
    "BGK, half-way": ("half-way", "bgk"),
}
RULES = ("half-way", "central-linear")
SPREAD, DRIFT = {"fp64": 1e-6, "fp32": 1e-4, "fp16": 1e-2}, 0.1


class Rock(NamedTuple):
    """A raw uint8 image (0 = pore) and its reference."""

    name: str  # in reports
    file: str  # below the data folder
    shape_zyx: tuple[int, int, int]  # size of the image
    periodic: str  # axes along which it repeats
    permeability: float  # reference, along z [voxel^2]
    is_extruded: bool = True  # whether all z slices are alike, so that one of them is enough


_DUCT_FILE, _BCC_FILE = "rect_channel_24_14_50_vs_5e-05.raw", "bcc_100_100_100_phi0.3_vs_1e-05.raw"
TUBE = Rock(
    *("tube, R = 25", "channels_poremaps/ptube_54_54_50_vs_2e-05.raw", (50, 54, 54), "z"),
    flows.pipe_flow_rate(25.0) / (54 * 54),
)
DUCT = Rock(
    *("duct, 20 x 10", f"channels_poremaps/{_DUCT_FILE}", (50, 14, 24), "z"),
    flows.duct_flow_rate(20.0, 10.0) / (24 * 14),
)
BCC = Rock("bcc spheres, 100^3", f"spheres_bcc_poremaps/{_BCC_FILE}", (100, 100, 100), "xyz", 3.086, False)


@case(
    "permeability",
    "tube: pi R^4 / (8 A); duct: series of White, Viscous Fluid Flow (2006), sect. 3-3; bcc spheres: another"
    " program, two relaxation times with Lambda = 3/16; images: github.com/krachdd/poremaps",
)
def permeability(settings: Settings) -> Iterator:
    """Tube and duct; in full also spheres, and every slice of the images."""
    rocks = (TUBE, DUCT) if settings.quick else (TUBE, DUCT, BCC)
    folder = data_folder(*(rock.file for rock in rocks))
    for rock in rocks:
        computed = measured_permeability(rock, folder, settings.quick and rock.is_extruded, settings)
        yield relative(f"{rock.name}: k_z [voxel^2]", rock.permeability, computed, TOLERANCE)


def measured_permeability(rock: Rock, folder: Path, one_slice: bool = False, settings: Settings = DEFAULT) -> float:
    """Permeability along z [voxel^2] of an image, or of its last slice repeated periodically."""
    nz, ny, nx = rock.shape_zyx
    skipped = nz - 1 if one_slice else 0
    options = {"dtype": "uint8", "header_bytes": skipped * ny * nx, "fluid_value": 0}
    options["shape_zyx"] = [nz - skipped, ny, nx]
    geometry = {"file": str(Path(folder, rock.file).resolve()), "periodic": list(rock.periodic), "options": options}
    simulation = flows.forced_flow(geometry, RELAXATION_TIME, (0.0, 0.0, FORCE), settings=settings)
    flow = flows.until_steady(simulation, lambda: simulation.velocity_m_s()[:, 2].sum(), STEADY, interval=200)
    section_mean = float(flow) / ((nz - skipped) * ny * nx)
    return simulation.numerics.viscosity_lattice * section_mean / FORCE


@case(
    "viscosity-independence",
    "steady Stokes flow has one permeability; a wall's place depends on Lambda alone, which two relaxation times hold"
    " fixed: Ginzburg, d'Humieres, Phys. Rev. E 68, 066614 (2003)",
)
def viscosity_independence(settings: Settings) -> Iterator:
    """Permeability of overlapping spheres from relaxation time 0.6 to 2: two relaxation times against one."""
    times, curves = QUICK_RELAXATION_TIMES if settings.quick else RELAXATION_TIMES, []
    for name, (rule, collision) in METHODS.items():
        if rule not in possible_rules(RULES, settings):
            continue
        values = np.array([pack_permeability(tau, rule, collision, settings) for tau in times])
        curves.append(Series(name, times, values, "points"))
        what, spread = "largest / smallest permeability - 1", values.max() / values.min() - 1.0
        if collision == "bgk":
            yield at_least(f"{what}, BGK drifts", DRIFT, spread, 0.0)
        else:
            yield absolute(f"{what}, {name}", 0.0, spread, SPREAD[settings.precision])
    labels = "relaxation time [steps]", "permeability [voxel^2]"
    yield Plot("Permeability of overlapping spheres", *labels, tuple(curves))
    yield from left_out_rules(RULES, settings)


def pack_permeability(tau: float, rule: str, collision: str, settings: Settings = DEFAULT) -> float:
    """nu <u> / g [voxel^2] of a periodic block of overlapping solid spheres, the mean over the whole block."""
    size = QUICK_SIZE if settings.quick else SIZE
    radius = RADIUS_OVER_SIZE * size
    options = {"size": size, "radius": radius, "porosity": POROSITY, "seed": SEED}
    geometry, tables = {"shape": "sphere_pack", "options": options}, flows.creeping(rule, collision)
    simulation = flows.forced_flow(geometry, tau, (FORCE, 0.0, 0.0), settings=settings, tables=tables)
    total = flows.settled(simulation, lambda: flows.sum_along_x(simulation), 2.0 * radius)
    return float(viscosity(tau, CS2) * total / size**3 / FORCE)
