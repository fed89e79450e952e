"""Heat that spreads in solids: what it obeys at the fluid, and that the flow does not enter."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.domain import FIXED, FLUX, ScalarBoundary, build_local_domain
from muphy_lb.geometry.labels import add_solids
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, Voxels, wall_flag
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.physics.thermal.model import POPULATION_METHOD, Heat
from tests.support import advance, random_owner
from tests.thermal import COLD, HOT, ThermalSetup, cavity_engine, heat, temperature, thermal_state

DIFFUSIVITY, RATIO = 0.06, 4.0
# Cold wall, hot wall, the solid, all others.
BOUNDARY = ScalarBoundary(np.array([FIXED, FIXED, FLUX, FLUX]), np.array([COLD, HOT, 0.0, 0.0]), n_walls=3)
CLOSED = replace(BOUNDARY, kind=np.full(4, FLUX), value=np.zeros(4))


class Media:
    """Which voxels of a box between a cold and a hot wall are solid.

    Args:
        solid: (nz, ny, nx) mask.
        periodic: of the box.
    """

    def __init__(self, solid, periodic=(False, True, True)):
        flags = np.full((*solid.shape[:2], solid.shape[2] + 2), FLUID, FLAG_DTYPE)
        flags[..., 1:-1][solid] = wall_flag(2)
        flags[..., 0], flags[..., -1] = wall_flag(0), wall_flag(1)
        voxels = Voxels(flags, periodic=periodic, walls=("cold", "hot", "plate"))
        self.nodes = add_solids(build_nodes(voxels), voxels, ["plate"])
        self.solid = solid.reshape(-1)

    def setup(self, lattice, boundary=BOUNDARY, buoyancy=(0.0, 0.0, 0.0), **more):
        """Thermal flow; the media are those of node-list order, for one rank."""
        diffusivity = np.where(self.solid, RATIO * DIFFUSIVITY, DIFFUSIVITY)
        own = Heat(DIFFUSIVITY, buoyancy, boundary, POPULATION_METHOD, media=(diffusivity, 1.0 - self.solid))
        return MediaSetup(lattice, heat=own, **more)


class MediaSetup(ThermalSetup):
    """Media of every node; ranks take theirs."""

    def heat_of(self, domain):
        """With the media of a rank."""
        return replace(self.heat, media=tuple(values[domain.number] for values in self.heat.media))

    def model_of(self, domain, nodes):
        """The model of a rank."""
        return replace(self, heat=self.heat_of(domain)).model()


def layers(shape_zyx, first, last):
    """A plate across x."""
    solid = np.zeros(shape_zyx, dtype=bool)
    solid[..., first:last] = True
    return solid


@pytest.mark.parametrize("backend", ["numpy", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
def test_temperature_and_flux_are_continuous_where_a_solid_begins(lattice, backend):
    """A plate of four voxels and four times the conductivity resists as much as one voxel of fluid."""
    media = Media(layers((1 if lattice.dimension == 2 else 2, 2, 10), 3, 7))
    engine = advance(cavity_engine(media.nodes, media.setup(lattice, backend=backend)), 3000)
    x = media.nodes.coordinates()[engine.domain.number, 0]
    resistance = np.cumsum(np.array([0.5, 1, 1, 0.625, 0.25, 0.25, 0.25, 0.625, 1, 1]))
    assert np.abs(temperature(engine) - (COLD + resistance[x - 1] / 7.0)).max() < 1e-12


@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_the_flow_does_not_enter_a_solid_and_heat_is_kept(backend):
    media = Media(np.random.default_rng(3).random((6, 8, 10)) < 0.3)
    setup = media.setup(D3Q19, CLOSED, (0.0, 0.0, 3e-4), backend=backend)
    engine = cavity_engine(media.nodes, setup)
    heat(engine, setup, 1.0 + 0.3 * np.random.default_rng(5).standard_normal(media.nodes.n_nodes))
    before, solid = temperature(engine).sum(), engine.domain.solid == 2
    advance(engine, 60)
    speed = np.abs(engine.moments()[1:]).max(axis=0)
    assert solid.sum() == media.solid.sum() and speed[solid].max() == 0.0 and speed[~solid].max() > 1e-5
    assert abs(temperature(engine).sum() / before - 1.0) < 1e-14


def test_every_link_between_fluid_and_solid_is_a_wall():
    media = Media(np.random.default_rng(3).random((4, 5, 6)) < 0.4)
    domain = build_local_domain(media.nodes, np.zeros(media.nodes.n_nodes, int), 0, D3Q19)
    table, through = (look(D3Q19.c, slice(None)) for look in (domain.neighbours, domain.neighbours_with_ghosts))
    there = through >= 0
    crosses = there & (domain.solid[np.where(there, through, 0)] != domain.solid)
    assert (
        crosses.any()
        and (table[crosses] < 0).all()
        and np.array_equal(table[~crosses & there], through[~crosses & there])
    )
    assert not (domain.solid[domain.in_table.node] >= 0).any()  # forces on walls are those of the fluid


@pytest.mark.parametrize("streaming", ["pull", "aa", "push"])
def test_ranks_agree_with_one_bit_by_bit_through_solids(streaming):
    media = Media(np.random.default_rng(3).random((4, 6, 8)) < 0.4, periodic=(False, True, True))
    setup = media.setup(D3Q19, buoyancy=(1e-4, 2e-4, 3e-4), backend="cpu", streaming=streaming)
    n = media.nodes.n_nodes
    found = [thermal_state(media.nodes, setup, owner) for owner in (np.zeros(n, int), random_owner(media.nodes, 3))]
    assert all(np.array_equal(*pair) for pair in zip(*found, strict=True)) and np.ptp(found[0][1]) > 0.1


@pytest.mark.gpu
@pytest.mark.parametrize("streaming", ["pull", "aa", "push"])
def test_a_gpu_computes_solids_as_specified(streaming):
    media = Media(np.random.default_rng(3).random((4, 6, 8)) < 0.4, periodic=(False, True, True))
    setups = [
        media.setup(D3Q19, buoyancy=(1e-4, 2e-4, 3e-4), backend=b, streaming=streaming) for b in ("numpy", "cuda")
    ]
    specified, computed = (thermal_state(media.nodes, setup, np.zeros(media.nodes.n_nodes, int)) for setup in setups)
    assert np.abs(specified[0] - computed[0]).max() < 1e-14 and np.abs(specified[1] - computed[1]).max() < 1e-13
