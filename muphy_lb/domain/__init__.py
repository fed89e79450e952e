"""domain: one rank's nodes in run order, the address table, boundary link records, halo plan."""

from muphy_lb.domain.addresses import STREAMINGS, AddressTable, LinkAddresses, build_addresses
from muphy_lb.domain.halo import HaloPlan
from muphy_lb.domain.links import LinkRecords, opening_records
from muphy_lb.domain.local import LocalDomain, build_local_domain, check_dimension
from muphy_lb.domain.walls import FOLDED, MIRRORED, SLOTTED, WallTreatment, open_corners

__all__ = [
    "FOLDED",
    "MIRRORED",
    "SLOTTED",
    "STREAMINGS",
    "AddressTable",
    "HaloPlan",
    "LinkAddresses",
    "LinkRecords",
    "LocalDomain",
    "WallTreatment",
    "build_addresses",
    "build_local_domain",
    "check_dimension",
    "open_corners",
    "opening_records",
]
