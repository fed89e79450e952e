"""What the tension of two fluids has of plane interfaces at any angle and place among the nodes of a lattice."""

import numpy as np
import pytest

from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.physics.two_fluid.profile import SHARPNESS, steep, straight

N_PLANES = 200


def planes(lattice) -> np.ndarray:
    """(N_PLANES, 3) unit normals."""
    normals = np.random.default_rng(3).normal(size=(N_PLANES, 3))
    normals[:, lattice.dimension :] = 0.0
    return normals / np.linalg.norm(normals, axis=1)[:, None]


def gradient(lattice, normal, distance) -> np.ndarray:
    """(3, n) isotropic differences of psi at distances (n,) from a plane interface."""
    there = np.tanh(0.5 * SHARPNESS * (distance + (lattice.c[1:] @ normal)[:, None]))
    return np.einsum("k,ka,kn->an", lattice.w[1:], lattice.c[1:], there) / float(lattice.cs2)


@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
def test_normals_are_freed_of_what_differences_add(lattice):
    distance, before, after = np.linspace(-4.0, 4.0, 41), 0.0, 0.0
    for normal in planes(lattice):
        found = gradient(lattice, normal, distance)
        found /= np.linalg.norm(found, axis=0)
        freed = straight(found, np.tanh(0.5 * SHARPNESS * distance))
        before = max(before, np.linalg.norm(found - normal[:, None], axis=0).max())
        after = max(after, np.linalg.norm(freed - normal[:, None], axis=0).max())
    assert before > 2.5e-4 and after < 4e-5


@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
def test_the_slope_beside_walls_adds_up_to_the_whole_jump(lattice):
    place, row = np.random.default_rng(4).uniform(size=N_PLANES), np.arange(-80.0, 81.0)
    for normal, offset in zip(planes(lattice), place, strict=True):
        along = normal[np.argmax(np.abs(normal))]
        distance = row * along + offset
        size = np.linalg.norm(gradient(lattice, normal, distance), axis=0)
        jump = steep(np.tanh(0.5 * SHARPNESS * distance), size).sum() * abs(along)
        assert jump == pytest.approx(1.0, abs=4.1e-4)
