"""Cases with bubbles: how they start, what is told of them, and what may not be asked for."""

import json

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.output.series import read_series
from muphy_lb.physics.free_surface.bubbles import VOXEL
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.laws.test_free_surface_cases import tables

COLUMN = {"box_m": [[-1.0, 6.7e-3, -1.0], [1.0, 12.5e-3, 1.0]]}
TALL = {"shape": "tank", "spacing_m": 1e-3, "options": {"length": 8, "height": 20}}
P_0, WEIGHT_PA = 2e4, 1000.0 * 9.81 * 5.8e-3


def cushioned(bubbles=None, **changes):
    """A column of liquid between a cushion of gas and an atmosphere."""
    section = {"pressure_pa": P_0, "atmosphere_m": [[-1.0, 18e-3, -1.0], [1.0, 1.0, 1.0]], **(bubbles or {})}
    surface = {"liquid": [COLUMN], **changes.pop("free_surface", {}), "bubbles": section}
    return case_from_dict(tables(geometry=TALL, free_surface=surface, **changes))


def bubbles_of(simulation):
    (surface,) = simulation.physics
    return surface.bubbles


def test_gas_starts_with_the_pressure_of_the_liquid_around_it():
    simulation = Solver(cushioned())
    bubbles, units = bubbles_of(simulation), simulation.units
    assert bubbles.regions.is_open.tolist() == [False, True]
    enclosed, open_air = bubbles.pressure_pa(units)
    assert enclosed == pytest.approx(WEIGHT_PA, rel=0.1) and open_air == 0.0
    simulation.step(40)
    assert np.abs(simulation.velocity_m_s()).max() < 0.05 * np.sqrt(9.81 * 6e-3)


def test_gas_starts_with_the_pressure_that_the_case_says_without_hydrostatic():
    simulation = Solver(cushioned(free_surface={"hydrostatic": False, "gas_pressure_pa": 50.0}))
    bubbles = bubbles_of(simulation)
    units = simulation.units
    assert bubbles.pressure_pa(units) == pytest.approx([50.0, 50.0], abs=1e-6)
    simulation.step(30)
    enclosed, open_air = bubbles.pressure_pa(units)
    assert enclosed > 51.0 and open_air == pytest.approx(50.0, abs=1e-6)


def test_the_series_tells_every_bubble(tmp_path):
    Run(Solver(cushioned({"gamma": 1.4}, run={"steps": 60})), tmp_path).execute()
    series = read_series(tmp_path / "bubbles.csv")
    assert set(series["step"]) == {10, 20, 30, 40, 50, 60} and set(series["label"][::2]) == {0}
    cushion = series["label"] == 0
    kept = (P_0 + series["pressure_pa"][cushion]) * series["volume_m3"][cushion] ** 1.4
    assert np.ptp(kept) < 1e-6 * kept.mean() and np.ptp(series["volume_m3"][cushion]) > 0.0
    assert series["x_m"][cushion] == pytest.approx(3.5e-3, abs=1e-9)
    assert series["y_m"][cushion] == pytest.approx(3e-3, rel=0.05) and (series["is_open"] == ~cushion).all()
    record = json.loads((tmp_path / "summary.json").read_text())["bubbles"]
    assert (record["count"], record["open_count"], record["at_limit_count"]) == (1, 1, 0)
    assert record["dissolved_m3"] == 0.0 < record["volume_m3"] < record["content_m3"]


def test_volumes_may_be_measured_less_often():
    every = {"pressure_every_steps": 4, "regions_every_steps": 8}
    simulation = Solver(cushioned(every, free_surface={"hydrostatic": False}))
    volumes = []
    for _ in range(8):
        simulation.step(1)
        volumes.append(int(bubbles_of(simulation).regions.volume[0]))
    assert len(set(volumes[:3])) == 1 and volumes[3] == volumes[6] != volumes[2] and volumes[7] != volumes[6]


@pytest.mark.parametrize(
    ("bubbles", "message"),
    [
        ({"pressure_pa": 0.0}, "bubbles.pressure_pa is 0.0: must be greater than 0"),
        ({"gamma": 0.9}, "bubbles.gamma is 0.9: must be greater than or equal to 1"),
        ({"pressure_every_steps": 3}, "regions_every_steps = 16 and pressure_every_steps = 3; the first must be a mul"),
        (
            {"atmosphere_m": [[1.0, 0.0, 0.0], [2.0, 1.0, 1.0]]},
            "atmosphere_m: no voxel of the geometry lies in",
        ),
    ],
)
def test_what_bubbles_cannot_be_is_refused(bubbles, message):
    with pytest.raises(InputError, match=message):
        Solver(cushioned(bubbles))


def test_bubbles_without_gas_are_refused():
    everything = {"box_m": [[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]]}
    with pytest.raises(InputError, match="no voxel of the geometry is gas at the start; make room"):
        Solver(cushioned(free_surface={"liquid": [everything]}))


def test_a_sphere_of_gas_starts_in_the_liquid():
    pool = {"liquid": [{"level_m": 14e-3}]}
    sphere = {"spheres": [{"centre_m": [3.5e-3, 6e-3, 0.0], "radius_m": 3e-3}]}
    bubbles = bubbles_of(simulation := Solver(cushioned(sphere, free_surface=pool)))
    regions, units = bubbles.regions, simulation.units
    assert regions.is_open.tolist() == [False, True]
    assert regions.volume[0] / VOXEL == pytest.approx(np.pi * 9.0, rel=0.02)
    assert bubbles.pressure_pa(units)[0] == pytest.approx(1000.0 * 9.81 * 8e-3, rel=0.05)
