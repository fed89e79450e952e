"""Starts of liquids with a free surface: waves and films that are given whole, drops and bubbles in and off balance."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.engine import engine
from muphy_lb.physics.free_surface.cells import CELL, is_liquid
from muphy_lb.physics.free_surface.filling import fill
from muphy_lb.run.solver import Solver

LENGTH, DEPTH, AMPLITUDE, GRAVITY, VISCOSITY = 48, 24, 1.0, 1e-4, 1e-3
COLUMNS, ROWS = np.arange(LENGTH) + 0.5, np.arange(DEPTH + 10) - 0.5  # heights above the lower plate


def flow(folder=".", geometry=None, viscosity=VISCOSITY, **tables):
    """The flow of a case in lattice units: an edge of 1 m, a time step of 1 s, 1 kg/m3."""
    case = {
        "geometry": {"spacing_m": 1.0, **(geometry or {"shape": "tank"})},
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": viscosity},
        "lattice": {"name": "D2Q9", "time_step_s": 1.0},
        "compute": {"backend": "cpu", "precision": "fp64"},
        "run": {"steps": 1},
        **tables,
    }
    return Solver(case_from_dict(case, folder))


def progressive_wave(by_case, folder):
    """A wave that travels along x, of the small amplitudes of a liquid of finite depth (Lamb, Hydrodynamics, section
    229), and its angular frequency."""
    k = 2.0 * np.pi / LENGTH
    omega = np.sqrt(GRAVITY * k * np.tanh(k * DEPTH))
    phase, y = k * COLUMNS, ROWS[:, None]
    level = DEPTH + AMPLITUDE * np.cos(phase)
    scale = AMPLITUDE * omega / np.sinh(k * DEPTH)
    velocity = np.zeros((1, ROWS.size, LENGTH, 3))
    velocity[0, :, :, 0] = scale * np.cosh(k * y) * np.cos(phase)
    velocity[0, :, :, 1] = scale * np.sinh(k * y) * np.sin(phase)
    dynamic = AMPLITUDE * np.cosh(k * y) / np.cosh(k * DEPTH) * np.cos(phase)
    np.save(folder / "share.npy", np.clip(level - y + 0.5, 0.0, 1.0)[None])
    np.save(folder / "velocity.npy", velocity)
    np.save(folder / "pressure.npy", GRAVITY * (DEPTH - y + dynamic)[None])
    geometry = {"shape": "channel", "options": {"length": LENGTH, "height": ROWS.size - 2}}
    initial = {"pressure_file": "pressure.npy"} | ({"velocity_file": "velocity.npy"} if by_case else {})
    wave = flow(
        folder,
        geometry,
        flow={"acceleration_m_s2": [0.0, -GRAVITY, 0.0]},
        free_surface={"liquid": [{"image_file": "share.npy"}]},
        initial=initial,
    )
    if not by_case:
        wave.set_velocity_m_s(velocity.reshape(-1, 3)[wave.nodes.voxel])
    return wave, omega


def first_harmonic(wave):
    """Complex amplitude of the surface."""
    share = np.zeros(ROWS.size * LENGTH)
    share[wave.nodes.voxel] = np.nan_to_num(fill(wave))
    return 2.0 * np.exp(-2j * np.pi * COLUMNS / LENGTH).dot(share.reshape(-1, LENGTH).sum(axis=0)) / LENGTH


def test_a_wave_given_by_its_velocity_travels_the_same_from_files_and_from_python(tmp_path):
    wave, omega = progressive_wave(True, tmp_path)
    by_hand, _ = progressive_wave(False, tmp_path)
    assert abs(first_harmonic(wave)) == pytest.approx(AMPLITUDE, abs=0.02)
    quarter = round(0.5 * np.pi / omega)
    for each in (wave, by_hand):
        each.step(quarter)
    found = first_harmonic(wave)
    assert np.abs(wave.velocity_m_s() - by_hand.velocity_m_s()).max() < 1e-11
    assert np.angle(found) == pytest.approx(-0.5 * np.pi, abs=0.06)
    assert abs(found) == pytest.approx(AMPLITUDE, abs=0.1)


def test_a_film_on_an_incline_starts_below_a_plane_with_the_pressure_across_it():
    normal, offset, gravity = np.array([0.6, 0.8, 0.0]), 14.3, np.array([0.0, -1e-4, 0.0])
    film = flow(
        geometry={"shape": "tank", "options": {"length": 20, "height": 20}},
        flow={"acceleration_m_s2": gravity.tolist()},
        free_surface={"liquid": [{"level_m": offset, "normal": (2.0 * normal).tolist()}]},
    )
    above = film.nodes.coordinates() @ normal - offset
    cell, share = film.model_field(CELL), fill(film)
    assert (is_liquid(cell[above < -1.0])).all() and np.nan_to_num(share[above > 1.0]).max() == 0.0
    near = np.abs(above) < 0.1
    assert share[near] == pytest.approx(0.5 - above[near] / 0.8, abs=0.02)
    pressed = 1.0 + 3.0 * (gravity @ normal) * above
    assert film.density()[is_liquid(cell)] == pytest.approx(pressed[is_liquid(cell)], abs=1e-12)


TENSION, RADIUS, P_0 = 1e-3, 6.0, 0.2


def bubble(**sphere):
    """A bubble in the middle of a tank full of liquid, but for open gas on top."""
    bubbles = {"pressure_pa": P_0, "atmosphere_m": [[-1.0, 28.0, -1.0], [99.0, 99.0, 1.0]]}
    middle = {"centre_m": [15.0, 14.0, 0.0], "radius_m": RADIUS}
    return flow(
        geometry={"shape": "tank", "options": {"length": 30, "height": 34}},
        viscosity=0.1,
        free_surface={
            "liquid": [{"box_m": [[-1.0, -1.0, -1.0], [99.0, 28.0, 1.0]]}],
            "surface_tension_n_m": TENSION,
            "bubbles": {**bubbles, "spheres": [middle | sphere]},
        },
    )


def gas_of(simulation):
    """(pressure over p_0, volume [voxels]) of the bubble."""
    (gas,) = simulation.engine.model.actions
    (enclosed,) = np.flatnonzero(~gas.regions.is_open)
    return gas.pressure_pa(simulation.units)[enclosed], gas.regions.volume[enclosed] / 2**30


def test_a_bubble_starts_with_the_pressure_of_surface_tension_and_keeps_its_volume():
    simulation = bubble()
    pressure, volume = gas_of(simulation)
    assert pressure == pytest.approx(TENSION / RADIUS, rel=0.02)
    simulation.step(300)
    assert gas_of(simulation)[1] == pytest.approx(volume, rel=1e-3)


def test_a_bubble_off_balance_starts_with_its_own_pressure_and_swells_towards_it():
    simulation = bubble(pressure_pa=1.1 * P_0)
    pressure, volume = gas_of(simulation)
    assert pressure == pytest.approx(0.1 * P_0, rel=1e-6)
    simulation.step(300)
    assert gas_of(simulation)[1] > 1.02 * volume


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bubble(pressure_pa=3.0), r"bubbles.spheres\[0\].pressure_pa is 3: .* set lattice.time_step_s"),
        (
            lambda: flow(free_surface={"liquid": [{"box_m": [[-1.0] * 3, [5.0] * 3], "normal": [0.0, 1.0, 0.0]}]}),
            "has a normal and no level_m",
        ),
    ],
)
def test_starts_that_make_no_sense_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_nodes_that_start_alike_are_computed_once_with_the_bits_of_each(monkeypatch):
    """Also where the collision reads fields, which are alike in the gas and at one depth."""
    tank = {"shape": "tank", "options": {"length": 40, "height": 24, "width": 12}}
    dam = {
        "lattice": {"name": "D3Q19", "time_step_s": 1.0, "smagorinsky": 0.1},
        "flow": {"acceleration_m_s2": [0.0, -1e-5, 0.0]},
        "free_surface": {"liquid": [{"box_m": [[-1.0, -1.0, -1.0], [15.3, 12.4, 20.0]]}]},
        "compute": {"backend": "cpu", "precision": "fp64", "order": "tiles"},
    }
    found, columns = [], []
    for changes in (engine._changes, lambda rows, n_nodes: np.arange(n_nodes)):
        monkeypatch.setattr(engine, "_changes", lambda *given, of=changes: columns.append(of(*given)) or columns[-1])
        found.append(flow(geometry=tank, **dam).engine.populations())
    assert np.array_equal(*found)
    assert columns[0].size < 0.1 * columns[1].size
