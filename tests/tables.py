"""What address tables are measured by: the rows of a domain, and whether a table permutes them."""

import numpy as np

from muphy_lb.domain import AddressTable, all_addresses


def phases(addresses: AddressTable) -> range:
    """Numbers of the different steps."""
    return range(len(addresses.patterns))


def own_rows(addresses: AddressTable, phase: int) -> np.ndarray:
    """(K, pitch) addresses of the rows of the directions that a phase's table is about."""
    return all_addresses(addresses.patterns[phase].directions, addresses.domain.lattice.q, addresses.domain.pitch)


def are_permutations(addresses: AddressTable) -> bool:
    """Whether every address of the table's own rows occurs once, in every phase."""
    pairs = ((addresses.plain(phase), own_rows(addresses, phase)) for phase in phases(addresses))
    return all(np.array_equal(np.sort(table, axis=None), np.sort(rows, axis=None)) for table, rows in pairs)


def whole_map(addresses: AddressTable) -> np.ndarray:
    """(n_slots,) the table as a map of the buffer onto itself: where the entry of each address leads."""
    result = np.arange(addresses.n_slots)
    result[own_rows(addresses, 0)] = addresses.plain(0)
    return result
