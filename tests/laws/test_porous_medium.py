"""A porous medium has Darcy's law, Brinkman's layers, and the limits of solid and of clear fluid."""

from math import exp, sqrt

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import FP16, FP32, FP64
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.labels import in_region
from muphy_lb.lattice import D2Q9
from muphy_lb.measure.permeability import measured_permeability
from muphy_lb.measure.shear.fields import local_numbers
from muphy_lb.operators import (
    AFTER_COLLISION,
    BGK,
    COMPRESSIBLE,
    MOMENTUM_FIELDS,
    collision,
    drag_rates,
    macroscopic,
    moments_with_drag,
)
from muphy_lb.operators.darcy import DRAG, EVEN_RATE, ODD_RATE
from muphy_lb.operators.forces import COMPONENTS
from muphy_lb.run.solver import Solver
from muphy_lb.setup.geometry import load_nodes
from tests.laws.smallest import FLOW, merged

NU, FORCE, HEIGHT = 0.1, 1e-6, 8
EVERYWHERE = {"name": "all", "permeability_m2": NU / 2.0}
UPPER = {"name": "upper", "box_m": [[-9.0, HEIGHT + 0.6, -9.0], [99.0, 99.0, 9.0]]}
COLLISIONS = [
    *((lattice, name) for lattice in ("D2Q9", "D3Q15", "D3Q19", "D3Q27") for name in ("bgk", "trt", "mrt")),
    *(("D2Q9", "cumulant"), ("D3Q27", "cumulant"), ("D3Q19", "recursive-regularised")),
]


def solver(*media: dict, **more) -> Solver:
    """The flow of some porous parts in a channel that a weak force drives."""
    weak = {"flow": {"acceleration_m_s2": [FORCE, 0.0, 0.0]}, "lattice": {"collision": "trt"}}
    return Solver(case_from_dict(merged(merged(FLOW, weak), {"porous_medium": list(media), **more})))


def compiled(streaming: str = "pull") -> dict:
    return {"backend": "cpu", "precision": "fp64", "streaming": streaming}


def profile(simulation: Solver) -> np.ndarray:
    """Velocity along x by height."""
    y = simulation.nodes.coordinates()[:, 1]
    velocity = simulation.velocity_m_s()[:, 0]
    return np.array([velocity[y == each].mean() for each in np.unique(y)])


def two_layers(permeability: float, nu: float = NU) -> tuple[np.ndarray, np.ndarray]:
    """Means over voxels of the exact flow, in clear fluid of values and slopes at the nodes: clear fluid below,
    Brinkman's medium above, each ``HEIGHT`` high."""
    k, darcy, h = 1.0 / sqrt(permeability), FORCE * permeability / nu, float(HEIGHT)
    across = exp(-k * h)
    # u = a y - G y^2 / (2 nu) below, U (1 - b exp(-k (y - h)) - c exp(k (y - 2 h))) above
    lines = [[h, darcy, darcy * across], [1.0, -darcy * k, darcy * k * across], [0.0, across, 1.0]]
    a, b, c = np.linalg.solve(lines, [darcy + FORCE * h**2 / (2.0 * nu), FORCE * h / nu, 1.0])
    y = np.arange(HEIGHT) + 0.5
    falling = (1.0 - exp(-k)) / k * np.exp(-k * np.arange(HEIGHT))
    velocity = np.concatenate((a * y - FORCE * y**2 / (2.0 * nu), darcy * (1.0 - b * falling - c * falling[::-1])))
    return velocity, np.concatenate((a - FORCE * y / nu, darcy * k * (b * falling - c * falling[::-1])))


@pytest.mark.parametrize("streaming", ["pull", "aa", "push"])
@pytest.mark.parametrize("permeability", [1e-3, 0.05, 1.0, 10.0])
def test_a_channel_over_a_medium_has_the_exact_profile(permeability, streaming):
    """Half-way walls and interface; the velocity of a node in the medium is the mean over its voxel."""
    box = {"options": {"height": 2 * HEIGHT, "length": 2}}
    simulation = solver(UPPER | {"permeability_m2": permeability}, geometry=box, compute=compiled(streaming))
    simulation.step(4000)
    (exact, slopes), found = two_layers(permeability), profile(simulation)
    assert np.abs(found - exact).max() < 4e-3 * exact.max()
    assert np.abs(found - exact)[HEIGHT:].max() < 4e-3 * exact[HEIGHT:].max()
    y, stress = simulation.nodes.coordinates()[:, 1], local_numbers(simulation)[3]
    stress = np.array([stress[simulation.domain.number.argsort()][y == each].mean() for each in np.unique(y)])
    for layer in (slice(0, HEIGHT), slice(HEIGHT, None)):
        assert stress[layer] == pytest.approx(NU * slopes[layer], abs=0.01 * NU * np.abs(slopes[layer]).max())


@pytest.mark.parametrize(("lattice", "collision"), COLLISIONS)
def test_darcys_law_holds_to_rounding_for_every_collision(lattice, collision, tmp_path):
    """Also at gamma = 2, where populations behind the collision do not know their velocity."""
    np.save(tmp_path / "all.npy", np.ones((1, 2, 2), np.uint8))
    drive = {"acceleration_m_s2": [FORCE, 0.0, 0.0]}
    table = merged(FLOW, {"flow": drive, "lattice": {"name": lattice, "collision": collision}})
    table["geometry"] = {"file": "all.npy", "spacing_m": 1.0, "periodic": ["x", "y", "z"]}
    for permeability in (NU / 2.0, 0.3):
        medium = EVERYWHERE | {"permeability_m2": permeability}
        simulation = Solver(case_from_dict(table | {"porous_medium": [medium]}, tmp_path))
        simulation.step(120)
        u = simulation.velocity_m_s()
        darcy = np.array([permeability * FORCE / NU, 0.0, 0.0])
        assert np.abs(u - darcy).max() < 1e-15


def rock(tmp_path, fluid, **label) -> Solver:
    """A plane image of a solid, fluid and a third phase of value 7, which is fluid, solid, or a porous part."""
    image = np.ones((16, 20), dtype=np.uint8)
    image[2:6, 3:9], image[9:14, 8:15], image[0] = 7, 7, 0
    np.save(tmp_path / "rock.npy", image)
    media = [{"name": "grey", "label": 7, **label}] if label else []
    table = merged(FLOW, {"lattice": {"collision": "trt"}, "compute": compiled()})
    options = {"fluid_value": fluid}
    table["geometry"] = {"file": "rock.npy", "spacing_m": 1.0, "periodic": ["x", "y"], "options": options}
    return Solver(case_from_dict(table | {"porous_medium": media}, tmp_path))


@pytest.mark.parametrize(("permeability", "fluid"), [(1e-9, [1]), (1e9, [1, 7])])
def test_the_permeability_of_a_rock_goes_to_that_of_solid_and_clear_fluid(tmp_path, permeability, fluid):
    found = []
    for simulation in (rock(tmp_path, fluid), rock(tmp_path, 1, permeability_m2=permeability)):
        simulation.step(3000)
        found.append(measured_permeability(simulation).permeability_m2)
    assert found[1] == pytest.approx(found[0], rel=1e-3)


def test_rates_go_to_bounce_back_and_to_those_of_clear_fluid():
    gamma, even, odd = drag_rates(np.array([0.0, 1e9, np.inf]), NU)
    assert gamma[2] == 0.0 and (even[0], odd[0]) == pytest.approx((0.0, 2.0), abs=1e-4)
    assert (1.0 / even[1] - 0.5, (1.0 / odd[1] - 0.5) * 3.0 * NU) == pytest.approx((3.0 * NU, 3.0 / 16.0), rel=1e-6)


def test_a_slab_in_a_stream_takes_the_pressure_of_darcys_law():
    length, slab, permeability, speed = 24, 8, 0.2, 1e-4
    walls = [
        {"name": name, "box_m": [[-9.0, low, -9.0], [99.0, high, 9.0]], "slip": True}
        for name, low, high in (("low", -9.0, 0.0), ("high", 4.0, 13.0))
    ]
    simulation = solver(
        {"name": "slab", "permeability_m2": permeability, "box_m": [[7.6, -9.0, -9.0], [7.6 + slab, 99.0, 9.0]]},
        geometry={"options": {"length": length, "height": 3, "ends": "open"}},
        flow={"acceleration_m_s2": [0.0, 0.0, 0.0]},
        openings=[{"name": "inlet", "velocity_m_s": speed}, {"name": "outlet", "pressure_pa": 0.0}],
        walls=walls,
        compute=compiled(),
    )
    simulation.step(3000)
    x, pressure_pa = simulation.nodes.coordinates()[:, 0], simulation.pressure_pa()
    drop = pressure_pa[x == 5].mean() - pressure_pa[x == length + 2].mean()
    assert drop == pytest.approx(NU * speed * slab / permeability, rel=1e-4)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"permeability_m2": 0.0}, "permeability_m2 is 0.0"),
        ({"permeability_m2": None}, "needs exactly one of permeability_m2, porosity, permeability_file"),
        (
            {"box_m": [[50.0, 0.0, 0.0], [60.0, 1.0, 1.0]]},
            "all holds no fluid node.*the box of voxels is .* m: move it",
        ),
        ({"label": 3}, "'all' is a label of the image, and the case has geometry.shape"),
    ],
)
def test_a_part_that_makes_no_sense_is_refused(changes, problem):
    with pytest.raises(InputError, match=problem):
        solver({key: value for key, value in (EVERYWHERE | changes).items() if value is not None})


def test_permeabilities_of_a_file_and_of_grey_values(tmp_path):
    """The last part counts where two overlap; values between two grey ones are straight in the logarithm."""
    grey = np.broadcast_to(np.linspace(0.0, 10.0, 10), (1, 10, 10))
    np.save(tmp_path / "grey.npy", grey)
    part = {"name": "grey", "permeability_file": "grey.npy", "permeability_of": [[0.0, 1.0], [10.0, 100.0]]}
    inner = {"name": "inner", "porosity": 0.5, "grain_diameter_m": 6.0, "box_m": [[0.0, 0.0, -1.0], [1.0, 9.0, 1.0]]}
    case = case_from_dict(merged(FLOW, {"porous_medium": [part, inner]}), tmp_path)
    simulation = Solver(case)
    found = simulation.field("permeability")
    x = simulation.nodes.coordinates()[:, 0]
    expected = np.where(x <= 1, 0.5**3 * 36.0 / (180.0 * 0.25), 10.0 ** (2.0 * x / 9.0))
    assert np.allclose(found, expected, rtol=1e-12)


def test_a_law_of_viscosity_is_refused():
    law = {"power_law": {"consistency_pa_s": 0.1, "index": 0.8, "viscosity_limits_m2_s": [0.01, 1.0]}}
    with pytest.raises(InputError, match="power_law"):
        solver(EVERYWHERE, fluid=law)


@pytest.mark.parametrize("precision", [FP64, FP32, FP16], ids=lambda precision: precision.name)
def test_a_node_stores_its_momentum_in_lattice_units(precision):
    """Populations and forces are in those of their precision."""
    drag, node, real = {DRAG: 0.7, EVEN_RATE: 1.1, ODD_RATE: 0.9}, 0, precision.real
    moments = moments_with_drag(macroscopic(AFTER_COLLISION), AFTER_COLLISION, COMPRESSIBLE)
    given = {name: np.full(1, real(value)) for name, value in drag.items()}
    given |= {name: np.zeros(1, real) for name in MOMENTUM_FIELDS} | {"omega": real(1.3)}
    given |= {name: real(1e-3 * k * precision.unit) for k, name in enumerate(COMPONENTS)}
    f = D2Q9.w * np.random.default_rng(1).uniform(-0.1, 0.1, D2Q9.q)
    momentum = (D2Q9.c.T @ f + [0.0, 5e-4, 1e-3]) / (1.0 + 0.5 * drag[DRAG])
    stored = (f * precision.unit).astype(real)
    for operator in (collision(BGK, has_drag=True), moments):
        values = tuple(given[parameter.name] for parameter in operator.parameters)
        told = operator.compile(D2Q9, precision, lambda function: function)(stored, node, values)
    assert np.allclose([given[name][0] for name in MOMENTUM_FIELDS], momentum, rtol=1e-5, atol=1e-9)
    assert np.allclose(told[1:], momentum / (1.0 + f.sum()), rtol=1e-5, atol=1e-9)


def test_a_flow_that_is_set_starts_with_the_velocity_that_it_is_given():
    simulation = solver(EVERYWHERE, compute=compiled())
    simulation.step(10)
    given = np.random.default_rng(1).uniform(-1e-3, 1e-3, (simulation.nodes.n_nodes, 3)) * [1.0, 1.0, 0.0]
    simulation.state.set_velocity_m_s(given, stress=False)
    assert np.abs(simulation.velocity_m_s() - given).max() < 1e-15


def test_a_label_follows_the_preparation_of_its_image(tmp_path):
    image = np.random.default_rng(1).choice(np.array([0, 1, 1, 7], np.uint8), (6, 8, 8))
    np.save(tmp_path / "rock.npy", image)
    options = {"crop": [[1, 1, 0], [8, 8, 5]], "mirror": "x", "divide": 2, "reservoir_layers": 3, "fluid_value": 1}
    options |= {"reservoir_ends": "periodic", "drop_unconnected": "x"}
    table = merged(FLOW, {"lattice": {"name": "D3Q19"}})
    table["geometry"] = {"file": "rock.npy", "spacing_m": 1.0, "options": options}
    table["porous_medium"] = [{"name": "grey", "label": 7, "permeability_m2": 1.0}]
    nodes, _ = load_nodes(case_from_dict(table, tmp_path))
    own = image[:5, 1:, 1:]
    own = np.concatenate((own, own[:, :, ::-1]), axis=2).repeat(2, 0).repeat(2, 1).repeat(2, 2)
    x, y, z = nodes.coordinates().T
    expected = np.pad(own, ((0, 0), (0, 0), (3, 3)), constant_values=1)[z, y, x]
    assert set(expected) == {1, 7} and np.array_equal(in_region(nodes, "grey", nodes.voxel), expected == 7)


def test_a_stream_with_inertia_stays_past_a_medium_that_hardly_resists():
    """At a cell Reynolds number of 50, with the collision of small viscosities elsewhere."""
    disc = {"name": "disc", "permeability_m2": 100.0, "centre_m": [40.0, 18.0, 0.0], "radius_m": 8.0}
    simulation = solver(
        disc,
        geometry={"options": {"length": 120, "height": 40, "ends": "open"}},
        fluid={"kinematic_viscosity_m2_s": 1e-3},
        flow={"acceleration_m_s2": [0.0, 0.0, 0.0]},
        lattice={"collision": "cumulant"},
        openings=[{"name": "inlet", "velocity_m_s": 0.05}, {"name": "outlet", "pressure_pa": 0.0}],
        compute=compiled(),
    )
    simulation.step(1500)
    assert simulation.health().max_speed < 0.09
