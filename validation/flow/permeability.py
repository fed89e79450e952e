"""Permeability of voxel images, in voxel edges squared; needs the files of ``$MUPHY_DATA``.

k = nu <u> / F, with <u> the mean over the whole section, solid included. BGK at Lambda = (tau - 1/2)^2 = 3/16 puts a
half-way wall exactly half-way, and gives the permeability of any scheme with that Lambda.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from muphy_lb.validation.flows import forced_flow, until_steady
from muphy_lb.validation.record import Row, Validation, relative
from muphy_lb.validation.references.poiseuille import duct_flow_rate, pipe_flow_rate
from muphy_lb.validation.settings import DEFAULT, Settings

DATA_VARIABLE = "MUPHY_DATA"
CITATION = (
    "tube: pi R^4 / (8 A); duct: series of White, Viscous Fluid Flow (2006), sect. 3-3; bcc spheres: another"
    " program, two relaxation times with Lambda = 3/16; images: github.com/krachdd/poremaps"
)
RELAXATION_TIME = 0.5 + np.sqrt(3.0 / 16.0)
FORCE = 1e-6
STEADY = 1e-6


@dataclass(frozen=True)
class Rock:
    """A raw uint8 image (0 = pore) and its reference."""

    name: str  # in reports
    file: str  # below the data folder
    shape_zyx: tuple[int, int, int]  # size of the image
    periodic: str  # axes along which it repeats
    permeability: float  # reference, along z [voxel^2]
    tolerance: float  # largest relative error
    is_extruded: bool = True  # whether all z slices are alike, so that one of them is enough


TUBE = Rock(
    "tube, R = 25",
    "channels_poremaps/ptube_54_54_50_vs_2e-05.raw",
    (50, 54, 54),
    "z",
    pipe_flow_rate(25.0) / (54 * 54),
    0.01,
)
DUCT = Rock(
    "duct, 20 x 10",
    "channels_poremaps/rect_channel_24_14_50_vs_5e-05.raw",
    (50, 14, 24),
    "z",
    duct_flow_rate(20.0, 10.0) / (24 * 14),
    0.01,
)
BCC = Rock(
    "bcc spheres, 100^3",
    "spheres_bcc_poremaps/bcc_100_100_100_phi0.3_vs_1e-05.raw",
    (100, 100, 100),
    "xyz",
    3.086,
    0.01,
    is_extruded=False,
)


def permeability(settings: Settings = DEFAULT) -> Validation:
    """Tube and duct; in full also spheres, and every slice of the images."""
    rocks = (TUBE, DUCT) if settings.quick else (TUBE, DUCT, BCC)
    folder = os.environ.get(DATA_VARIABLE)
    missing = [rock.file for rock in rocks if folder is None or not Path(folder, rock.file).is_file()]
    if missing:
        return Validation("permeability", CITATION, skipped=f"no {', '.join(missing)} in ${DATA_VARIABLE}")
    return Validation("permeability", CITATION, tuple(_row(rock, Path(folder), settings) for rock in rocks))


def measured_permeability(rock: Rock, folder: Path, one_slice: bool = False, settings: Settings = DEFAULT) -> float:
    """Permeability along z [voxel^2] of an image, or of its last slice repeated periodically."""
    nz, ny, nx = rock.shape_zyx
    skipped = nz - 1 if one_slice else 0
    options = {
        "shape_zyx": [nz - skipped, ny, nx],
        "dtype": "uint8",
        "header_bytes": skipped * ny * nx,
        "fluid_value": 0,
    }
    geometry = {"file": str(Path(folder, rock.file).resolve()), "periodic": list(rock.periodic), "options": options}
    simulation = forced_flow(geometry, RELAXATION_TIME, (0.0, 0.0, FORCE), settings=settings)
    flow = until_steady(simulation, lambda: simulation.velocity_m_s()[:, 2].sum(), STEADY, interval=200)
    section_mean = float(flow) / ((nz - skipped) * ny * nx)
    return simulation.numerics.viscosity_lattice * section_mean / FORCE


def _row(rock: Rock, folder: Path, settings: Settings) -> Row:
    computed = measured_permeability(rock, folder, settings.quick and rock.is_extruded, settings)
    return relative(f"{rock.name}: k_z [voxel^2]", rock.permeability, computed, rock.tolerance)
