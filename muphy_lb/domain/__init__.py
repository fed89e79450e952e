"""domain: one rank's nodes in run order, its address table, boundary link records and halo plan.

- ``part``: the nodes that a rank stores, and its ghost layer; ``local``: LocalDomain, its nodes in run order.
- ``streaming``: the patterns pull, push and aa. ``addresses``: the addresses of a step, walls, periodicity, halo slots
  and link slots; ``runs``: the same table compressed.
- ``halo``: populations and fields that cross between ranks. ``links``: records of links into openings and walls.
- ``scalar_boundary``: conditions of scalars, values beyond walls of voxels; ``fitted_values``: beyond walls that cut
  links anywhere. ``stencil``, ``scalar_streaming``: the addresses of a scalar's values, of its populations.
- ``wall_shapes``: normals and curvatures of walls, from the smoothed image; ``smoothed_fluid``: that, by blocks.
- ``lone``: a domain of one node. ``lookup``: from a voxel to its node, and to the nodes around a particle.
"""

from muphy_lb.domain.addresses import AddressTable, NodeNeighbours, build_addresses, build_neighbours
from muphy_lb.domain.halo import Exchange, HaloPlan
from muphy_lb.domain.links import (
    IN_TABLE,
    LINKWISE,
    SPECULAR,
    LinkRecords,
    WallTreatment,
    open_corners,
    opening_records,
)
from muphy_lb.domain.local import ORDERS, LocalDomain, build_local_domain, check_dimension, domain_from_part
from muphy_lb.domain.lookup import VoxelLookup, build_lookup
from muphy_lb.domain.part import Part, cut_part
from muphy_lb.domain.runs import compress, decode
from muphy_lb.domain.scalar_boundary import FIXED, FLUX, INFLOW, OUTFLOW, ScalarBoundary
from muphy_lb.domain.scalar_streaming import ScalarSet, build_scalar_streaming
from muphy_lb.domain.stencil import StencilTable, build_stencil
from muphy_lb.domain.streaming import (
    AA,
    PULL,
    PUSH,
    STREAMINGS,
    Crossing,
    Pattern,
    Streaming,
    entry,
    is_entry,
    streaming_named,
)
from muphy_lb.lattice.layout import ROW, TILE, WARP, all_addresses, flat_address
