"""Force and torque of the fluid on labelled walls in SI units, by momentum exchange.

Every link from a fluid node into a wall transfers dF = c_q (f~_q + f_q'), what leaves plus what comes back, at the
point where it meets the wall (Ladd, J. Fluid Mech. 271, 285 (1994); Toelke, Comput. Visual. Sci. 13, 29 (2010), Eqs.
10-11). Populations are deviations from w_q: the reference pressure is left out, which changes nothing for a closed
body.

A body force that stands in for a pressure gradient also pulls at the solid: its share, force times volume of the wall's
voxels, belongs to the force of that gradient (his Eq. 12 with the sign that his section 7 uses) and is given apart.
"""

import numpy as np

from muphy_lb.boundaries.wall_motion import components, cut_distances
from muphy_lb.domain import LinkRecords, LocalDomain
from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.records import WallForce


def wall_forces(view: FlowView, links: LinkRecords, distance, exchange) -> dict[str, WallForce] | None:
    """Forces on all labelled walls by name, on rank 0 (None elsewhere); collective.

    Sums run in an order that does not depend on the ranks.

    Args:
        links: the local links into labelled walls.
        distance: (m,) fraction of each at which it meets the wall.
        exchange: (m,) population that leaves plus the one that enters of each.
    """
    gathered = view.communicator.gather((links.boundary, links.voxel, links.q, exchange, distance))
    if gathered is None:
        return None
    columns = [np.concatenate(column) for column in zip(*gathered, strict=True)]
    order = np.lexsort((columns[2], columns[1], columns[0]))
    wall, voxel, q, exchange, distance = (column[order] for column in columns)
    vector = view.lattice.c[q]
    force = vector * exchange[:, None]
    position = voxel_coordinates(voxel, view.header.shape) + distance[:, None] * vector
    result = {}
    for number, record in enumerate(view.header.walls):
        part = wall == number
        motion = view.motions[number]
        arm = motion.extent.arm(position[part], motion.centre)
        torque = np.cross(arm, force[part]).sum(axis=0)
        result[record.name] = _in_si(view, number, force[part].sum(axis=0), torque)
    return result


def labelled_links(nodes, domain: LocalDomain) -> tuple[np.ndarray, LinkRecords, np.ndarray]:
    """Indices of the links of ``Engine.wall_exchange`` that lead into labelled walls, these links, and the fraction of
    each at which it meets the wall; ``nodes`` is the part of the geometry around the domain."""
    links = domain.linkwise.join(domain.in_table)
    labelled = links.boundary < len(nodes.walls)
    links = links.select(labelled)
    return labelled, links, cut_distances(nodes, links, domain.lattice)


def _in_si(view, number: int, force: np.ndarray, torque: np.ndarray) -> WallForce:
    units, record = view.units, view.header.walls[number]
    section = next((s for s in view.case.walls if s.name == record.name), None)
    force_n = units.force_to_si(force)
    share = units.force_to_si(view.present_force * record.n_voxels)
    drag = lift = None
    if section is not None and section.reference_area_m2 is not None:
        scale = 0.5 * units.density_kg_m3 * section.reference_velocity_m_s**2 * section.reference_area_m2
        drag, lift = (
            float(force_n @ (np.array(direction) / np.linalg.norm(direction))) / scale
            for direction in (section.drag_direction, section.lift_direction)
        )
    torque_n_m = units.torque_to_si(torque)
    return WallForce(components(force_n), components(torque_n_m), components(share), drag, lift)
