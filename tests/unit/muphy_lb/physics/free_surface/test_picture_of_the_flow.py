"""The picture of a flow shows the liquid, and no gas."""

from muphy_lb.case.case import case_from_dict
from muphy_lb.measure.pictures import shown_flow
from muphy_lb.output.pictures.theme import DARK
from muphy_lb.physics.free_surface.cells import FILL
from muphy_lb.run.solver import Solver

LEVEL = 4
TANK = {
    "geometry": {"shape": "tank", "spacing_m": 1e-3, "options": {"length": 8, "height": 10, "width": 7}},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-4},
    "flow": {"acceleration_m_s2": [0.0, -9.81, 0.0]},
    "free_surface": {"liquid": [{"box_m": [[-1.0, -1.0, -1.0], [1.0, LEVEL * 1e-3, 1.0]]}]},
    "lattice": {"time_step_s": 1e-4},
    "compute": {"backend": "numpy"},
    "run": {"steps": 10},
}


def test_the_picture_shows_the_nodes_with_liquid():
    simulation = Solver(case_from_dict(TANK))
    simulation.step(3)
    nodes, speed, _ = shown_flow(simulation, DARK)
    assert nodes.n_nodes == speed.size < simulation.header.n_nodes
    assert nodes.coordinates()[:, 1].max() == LEVEL
    filling = simulation.model_field(FILL)
    assert set(simulation.nodes.voxel[filling > 0.0]) <= set(nodes.voxel)
