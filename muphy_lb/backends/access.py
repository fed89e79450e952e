"""How a streaming pattern reaches the populations of a node; compiled by every backend.

Pull: gathered loads, coalesced stores. Push: coalesced loads, scattered stores (Bernaschi et al. 2009, MUPHY).
"""


def load_local(buffer, table, address):
    """The population at an address."""
    return buffer[address]


def load_gathered(buffer, table, address):
    """The population that the table names for an address."""
    return buffer[table[address]]


def store_local(buffer, table, address, value):
    """Write to an address."""
    buffer[address] = value


def store_scattered(buffer, table, address, value):
    """Write to where the table sends an address."""
    buffer[table[address]] = value


ACCESS = {"pull": (load_gathered, store_local), "push": (load_local, store_scattered)}
