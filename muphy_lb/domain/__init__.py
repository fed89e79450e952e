"""domain: one rank's nodes in run order, the address table, boundary link records, halo plan."""

from muphy_lb.domain.addresses import STREAMINGS, AddressTable, build_addresses
from muphy_lb.domain.halo import HaloPlan
from muphy_lb.domain.links import LinkRecords
from muphy_lb.domain.local import LocalDomain, build_local_domain, check_dimension

__all__ = [
    "STREAMINGS",
    "AddressTable",
    "HaloPlan",
    "LinkRecords",
    "LocalDomain",
    "build_addresses",
    "build_local_domain",
    "check_dimension",
]
