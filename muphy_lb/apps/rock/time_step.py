"""The time step with which the flow through a rock settles in the fewest steps.

In lattice units, pressure spreads through a rock of permeability k and porosity phi by diffusion with the coefficient
cs^2 k / (phi nu), over a box of length L in the time L^2 phi nu / (4 pi^2 cs^2 k), and a pore of width d comes to speed
in d^2 / (23 nu) (the slowest mode of a tube). The first is by far the longer one in a rock of many pores, and shrinks
with nu: the fewest steps are needed where both are equal. With k / phi = d^2 / 64, half of that of a bundle of tubes,
this is at nu = d^2 / (10 L).

A shorter time step makes nu smaller and changes nothing physical. Two relaxation times place these walls alike for any
nu (Ginzburg and d'Humieres, Phys. Rev. E 68, 066614 (2003)), so that k stays the same.
"""

import logging

import numpy as np

from muphy_lb.apps.rock.command import SHORT
from muphy_lb.apps.rock.settled_flow import (
    Desk,
    Flow,
    Relay,
    forget_flow,
    is_free_of_time_step,
    is_under_way,
    longest_wave,
    settled_flow,
)
from muphy_lb.base.errors import DivergedError
from muphy_lb.case.case import Case
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import ask_for_voxels
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.lattice import lattice_named
from muphy_lb.parallel import from_root
from muphy_lb.setup.distribute import DistributedGeometry, distributed
from muphy_lb.setup.numerics import resolve

LOG = logging.getLogger(__name__)

SHARE = 0.1  # nu over d^2 / L with which both times are equal
LEAST_VISCOSITY = 0.003  # below, odd moments relax so slowly that a flow may become unstable
WORTHWHILE = 0.5  # share of the viscosity of the case beyond which a shorter time step saves little


def quick_flow(
    case: Case, communicator, nodes: NodeList | None, folder, desk: Desk, relay: Relay | None = None
) -> Flow | None:
    """:func:`muphy_lb.apps.rock.settled_flow.settled_flow` with a shorter time step where that saves steps, unless the
    desk wants that of the case, or the flow has begun; with that of the case if it becomes unstable. Collective.
    ``case``, ``communicator``, ``nodes``, ``folder``, ``desk``, ``relay``: as there. Raises InputError, DivergedError,
    OutputError: as there."""
    is_new = desk.time_step == SHORT and not from_root(communicator, lambda: is_under_way(folder, case))
    if not is_new:
        return settled_flow(case, communicator, nodes, folder, desk, relay)
    geometry = distributed(case, communicator, nodes)
    quick = quick_case(case, geometry)
    if quick is not None:
        desk.say(f"time step: {quick.lattice.time_step_s:.4g} s, shorter than in the case, settles k in fewer steps")
        try:
            return settled_flow(quick, communicator, geometry, folder, desk, relay)
        except DivergedError as error:
            desk.say(f"warning: with the shorter time step, {error}; started again with that of the case")
            from_root(communicator, lambda: forget_flow(folder))  # whose checkpoints hold the shorter time step
    return settled_flow(case, communicator, geometry, folder, desk, relay)


def quick_case(case: Case, geometry: DistributedGeometry) -> Case | None:
    """The case with the time step that settles its flow in the fewest steps; None where that is hardly shorter, or k
    might be another one; collective."""
    if not is_free_of_time_step(case):
        return None
    numerics = resolve(case, geometry.header.spacing_m, cs2=float(lattice_named(case.lattice.name).cs2))
    try:
        width = geometry.inspect(pore_width)
    except GeometryError as error:
        LOG.warning("warning: no shorter time step is searched for: %s", error)
        return None
    wanted = SHARE * width**2 / longest_wave(geometry.header)
    share = max(wanted, LEAST_VISCOSITY) / numerics.viscosity_lattice
    if not share < WORTHWHILE:
        return None
    others = {"relaxation_time": None, "lattice_velocity": None}
    lattice = case.lattice.model_copy(update={**others, "time_step_s": share * numerics.units.time_step_s})
    return case.model_copy(update={"lattice": lattice})


def pore_width(nodes: NodeList) -> float:
    """Hydraulic diameter 4 V / S of all fluid [voxels], S being faces of voxels; infinite without walls. Raises
    GeometryError: too little memory for the box."""
    voxel, faces = np.asarray(nodes.voxel[...]), 0
    ask_for_voxels(nodes.shape, 2, "the width of the pores")
    box = np.zeros(nodes.shape, dtype=bool)
    box.reshape(-1)[voxel] = True
    for axis, wraps in enumerate(nodes.periodic[::-1]):
        line = np.moveaxis(box, axis, 0)
        ends = line[-1] > line[0] if wraps else line[-1]
        faces += 2 * int(np.count_nonzero(line[:-1] > line[1:]) + np.count_nonzero(ends))  # both ways alike
    return 4.0 * voxel.size / faces if faces else np.inf
