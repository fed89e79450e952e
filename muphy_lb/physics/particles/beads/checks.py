"""Checks of beads at the start and under way, each of which names a bead, and their heating by a fluctuating fluid that
does not notice them.

A bead that follows v' = v - a (v - u), a = (Gamma / m) / (1 + Gamma / 2m), has the temperature T from its own noise
already. The fluctuations of u come on top, since nothing is given back. With shear waves of wave vector k, whose
velocities have the variance kT (d - 1) / d per node and decay by z = exp(-nu k^2) a step,

    T_bead / T - 1 = Gamma / 2 (d - 1) / d < |w(k)|^2 [1 + (1 - a) z] / [1 - (1 - a) z] >,

the mean over all k of the lattice; |w(k)|^2 is the square of the Fourier transform of the kernel's weights, averaged
over positions of the bead. For small Gamma it is Gamma times the mobility that the fluid alone gives a bead; sound adds
little.

A bead that drags the fluid along drifts with the mobility 1 / Gamma + 1 / (g eta): the fluid around it moves with it
(Ahlrichs, Duenweg, J. Chem. Phys. 111, 8225 (1999)).
"""

from functools import reduce
from types import MappingProxyType

import numpy as np

from muphy_lb.base.errors import DivergedError, InputError
from muphy_lb.base.units import Units
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.physics.particles.beads.model import Beads
from muphy_lb.physics.particles.beads.motion import OFFSET, VELOCITY, VOXEL

HALF = 0.5
STOKES = 6.0 * np.pi  # friction of a sphere over viscosity times radius
LONE_MOBILITY = MappingProxyType({"linear": 1.0 / 14.3, "point": 0.1422})
"""1/g by kernel, the mean over places between nodes (``muphy-lb validate bead-mobility bead-diffusion``)."""
LEAST_DRAG = 0.9  # share of the friction asked for below which a warning gives the friction of the drift


def bond_lengths(place: np.ndarray, bonds: np.ndarray, header: GeometryHeader) -> np.ndarray:
    """(m,) lengths of bonds (m, 2) between positions (n, 3), by the nearest image, voxels."""
    apart = place[bonds[:, 1]] - place[bonds[:, 0]]
    size = np.array(header.shape[::-1], float)
    return np.linalg.norm(apart - np.where(header.periodic, size * np.rint(apart / size), 0.0), axis=1)


def check_reach(beads: Beads, header: GeometryHeader) -> None:
    """Refuse forces that reach beyond half of a periodic box: a bead would feel another and its image. Raises
    InputError: they do."""
    periodic = [n for n, wraps in zip(header.shape[::-1], header.periodic, strict=True) if wraps and n > 1]
    most = HALF * min(periodic, default=np.inf)
    reaches = {"repulsion": beads.range if beads.interactions.pairs else 0.0}
    if beads.interactions.bonds == "fene":
        reaches["bonds"] = float(beads.constants["bond_b"])  # type: ignore[arg-type]
    for what, reach in reaches.items():
        if reach > most:
            raise InputError(
                f"particles.{beads.name}.{what} acts up to {reach * header.spacing_m:.4g} m; allowed: at most half of"
                f" the shortest periodic edge of the box, {most * header.spacing_m:.4g} m; take a larger box"
            )


class BeadChecks:
    """Checks of the beads of one table.

    Args:
        beads: they, in lattice units.
        bonds: (m, 2) own ids.
        ids: (n,) ids for messages; None if these are the own ones.
    """

    def __init__(self, beads: Beads, bonds: np.ndarray, ids: np.ndarray | None, header: GeometryHeader):
        self._beads, self._bonds, self._header = beads, bonds, header
        self._ids = np.arange(beads.count) if ids is None else ids

    def at_start(self, voxel: np.ndarray, offset: np.ndarray) -> None:
        """Refuse bonds that are longer than they can be, and beads at one position that repel each other. Raises
        InputError: there are such."""
        name, spacing_m = self._beads.name, self._header.spacing_m
        broken = self._broken(voxel + offset)
        if broken:
            k, length, longest = broken
            raise InputError(
                f"particles.{name}: the bond {self._bond(k)} starts with {length * spacing_m:.4g} m; allowed: less than"
                f" bonds.length_m = {longest * spacing_m:.4g}, at which it breaks; start these beads closer together,"
                " or make bonds longer"
            )
        place, first = np.unique(voxel + offset, axis=0, return_index=True)
        if self._beads.interactions.pairs in ("wca", "lennard-jones") and len(place) < len(voxel):
            again = np.setdiff1d(np.arange(len(voxel)), first)[0]
            other = np.flatnonzero((voxel + offset == (voxel + offset)[again]).all(axis=1))[0]
            raise InputError(
                f"particles.{name}: the beads {self._ids[other]} and {self._ids[again]} start at the same place, where"
                " their repulsion is infinite; start them apart"
            )

    def speed_at_start(self, speed: np.ndarray, units: Units) -> None:
        """Refuse velocities (n, 3) [lattice units] of a voxel a time step or more. Raises InputError: there is one."""
        fastest = np.abs(speed).max(axis=1)
        k = int(fastest.argmax())
        if fastest[k] >= 1.0:
            raise InputError(
                f"particles.{self._beads.name}: bead {self._ids[k]} starts with {units.velocity_to_si(fastest[k]):.4g}"
                f" m/s along an axis, {fastest[k]:.3g} voxels a time step; allowed: less than one; take a shorter time"
                " step, or correct the unit of time of the file"
            )

    def under_way(self, columns) -> None:
        """Stop at values that are not finite, and at broken bonds. Raises DivergedError: there are such."""
        name, remedy = self._beads.name, "take more substeps, a smaller time step, or weaker forces"
        numbers = np.stack([columns[column] for column in (*OFFSET, *VELOCITY)])
        bad = np.flatnonzero(~np.isfinite(numbers).all(axis=0))
        if bad.size:
            number = self._ids[columns["id"][bad[0]]]
            raise DivergedError(f"particles.{name}: the place or velocity of bead {number} is not a number; {remedy}")
        if len(columns["id"]) < self._beads.count:
            number = self._ids[np.setdiff1d(np.arange(self._beads.count), columns["id"])[0]]
            raise DivergedError(f"particles.{name}: bead {number} is lost; {remedy}")
        place = np.stack([columns[v] + columns[o] for v, o in zip(VOXEL, OFFSET, strict=True)], axis=1)
        broken = self._broken(place)
        if broken:
            k, length, longest = broken
            spacing_m = self._header.spacing_m
            raise DivergedError(
                f"particles.{name}: the bond {self._bond(k)} has broken: it is {length * spacing_m:.4g} m long, and at"
                f" most {longest * spacing_m:.4g} m; {remedy}"
            )

    def _broken(self, place: np.ndarray) -> tuple[int, float, float] | None:
        """The longest bond that is longer than it can be: number, length, longest extension."""
        if self._beads.interactions.bonds != "fene":
            return None
        length = bond_lengths(place, self._bonds, self._header)
        longest, k = float(self._beads.constants["bond_b"]), int(np.argmax(length))  # type: ignore[arg-type]
        return (k, float(length[k]), longest) if length[k] >= longest else None

    def _bond(self, k: int) -> str:
        return "-".join(str(self._ids[bead]) for bead in self._bonds[k])


def drifting_friction(friction: float, kernel: str) -> float:
    """Friction with which a bead that drags the fluid along drifts through it far from walls; both are over viscosity
    times voxel edge."""
    return 1.0 / (1.0 / friction + LONE_MOBILITY[kernel])


N_WAVES = 24  # waves along each axis; twice as many change the result by a few thousandths of itself


def excess_temperature(friction: float, mass: float, viscosity: float, kernel: str, dimension: int) -> float:
    """How much hotter beads become than a fluctuating fluid that does not notice them, T_bead / T - 1.

    It holds to about a tenth of itself for viscosities from 0.1 on, and is too large below.

    Args:
        friction, mass: of a bead, lattice units.
        viscosity: kinematic, lattice units.
        kernel: ``"linear"`` or ``"point"``.
    """
    wave = 2.0 * np.pi * (np.arange(N_WAVES) + 0.5) / N_WAVES - np.pi
    along = 2.0 / 3.0 + np.cos(wave) / 3.0 if kernel == "linear" else np.ones(N_WAVES)
    square, weight = (
        reduce(outer, [values] * dimension) for outer, values in ((np.add.outer, wave**2), (np.multiply.outer, along))
    )
    kept = (1.0 - friction / mass / (1.0 + 0.5 * friction / mass)) * np.exp(-viscosity * square)
    return 0.5 * friction * (1.0 - 1.0 / dimension) * float(np.mean(weight * (1.0 + kept) / (1.0 - kept)))
