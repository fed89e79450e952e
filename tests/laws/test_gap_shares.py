"""Shares of what links along walls carry: any flow that meets a body at rest passes its wall nodes without loss."""

import numpy as np
import pytest

from muphy_lb.boundaries.wall_balance import LARGEST_SHARE, wall_balance
from muphy_lb.boundaries.wall_motion import WallMotion, treat_walls
from muphy_lb.domain import build_local_domain
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.lattice import D2Q9, D3Q19, D3Q27, Lattice
from muphy_lb.parallel import SerialCommunicator
from tests.laws.walled import BODY_RADIUS, body, channel

RULE = "bouzidi"
LATTICES = pytest.mark.parametrize("lattice", [D2Q9, D3Q19, D3Q27], ids=lambda lattice: lattice.name)
# Of what leaves into the wall, root mean square: 0.18 to 0.26 at this radius, 0.05 to 0.18 on planes.
LEFT = {"shear": 0.3, "changing": 0.3}


def balance_of(nodes: NodeList, lattice: Lattice, motions):
    """(domain of one rank, its balance)."""
    domain = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, lattice, treat_walls(RULE, motions))
    return domain, wall_balance(domain, RULE, motions, SerialCommunicator())


def flows(lattice: Lattice):
    """Velocities around the body as functions of the position from its centre, by name: curl of d^2 v / 2 with d the
    distance from it, so that they neither slip nor diverge; v is constant, or changes linearly."""
    rng = np.random.default_rng(5)
    axes = np.arange(3) < lattice.dimension

    def flow(uniform, slope, direction):
        def velocity(position):
            radius = np.linalg.norm(position, axis=1, keepdims=True)
            distance, strength = radius - BODY_RADIUS, uniform + (position @ slope)[:, None] / BODY_RADIUS
            curl = np.cross(slope, direction) / BODY_RADIUS
            return distance * strength * np.cross(position / radius, direction) + 0.5 * distance**2 * curl

        return velocity

    for _ in range(4):
        slope = np.where(axes, rng.normal(size=3), 0.0)
        direction = rng.normal(size=3) if lattice.dimension == 3 else np.array([0.0, 0.0, 1.0])
        yield "shear", flow(1.0, 0.0 * slope, direction)
        yield "changing", flow(0.0, slope, direction)


@LATTICES
def test_what_leaves_a_node_through_the_wall_comes_back_along_it(lattice):
    nodes, centre = body(lattice)
    domain, balance = balance_of(nodes, lattice, (WallMotion(),))
    shape = np.array(nodes.shape[::-1])
    x, row = domain.voxel % shape[0], domain.voxel // shape[0]
    position = np.stack((x, row % shape[1], row // shape[1]), axis=1)

    def carried(node, q, velocity):
        middle = position[node] - centre + 0.5 * lattice.c[q]
        return 6 * lattice.w[q] * (lattice.c[q] * velocity(middle)).sum(axis=1)

    left, whole = {}, {}
    for name, velocity in flows(lattice):
        links = domain.linkwise
        into_wall = np.bincount(links.node, carried(links.node, links.q, velocity), domain.n_nodes)
        shared = balance.share * carried(balance.node, balance.q, velocity)
        missing = into_wall - np.bincount(balance.node, shared, domain.n_nodes)
        left[name] = left.get(name, 0.0) + (missing**2).sum()
        whole[name] = whole.get(name, 0.0) + (into_wall**2).sum()
    assert all(left[name] < LEFT[name] ** 2 * whole[name] for name in LEFT)


@pytest.mark.parametrize("distance", [0.25, 0.4, 0.6, 0.9])
def test_along_a_wall_of_the_lattice_the_share_is_known(distance):
    """A flow u = (x y, -y^2 / 2) above a wall at y = 0 and nodes at y = s: into the wall go s^2 / 2 - s / 3 + 1 / 24
    (D2Q9), and the link along it carries 2 s / 3 per unit of x."""
    _, balance = balance_of(channel(D2Q9, 6, distance, distance), D2Q9, (WallMotion(),) * 2)
    expected = 0.75 * distance - 0.5 + 1.0 / (16.0 * distance)
    assert np.abs(balance.share - expected).max() < 1e-2 and expected < LARGEST_SHARE
