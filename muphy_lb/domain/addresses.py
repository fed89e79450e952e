"""AddressTable: geometry, walls, periodicity, halo and openings folded into one table of flat addresses.

A population buffer is one flat array: Q rows of ``pitch`` populations, then the halo slots, then one slot per opening
link and per link of a slotted wall. Pull reads ``f[q] = old[table[q, n]]``; push writes ``new[table[q, n]] = f[q]``.
The bulk loop meets no branch.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from geometry.neighbours import FIRST_WALL_LINK, WALL_LINK
from muphy_lb.domain.links import REMOTE_LINK
from muphy_lb.domain.local import LocalDomain

STREAMINGS = ("pull", "push")


@dataclass(frozen=True)
class LinkAddresses:
    """Flat addresses (L,) of links that leave the fluid.

    Attributes:
        outgoing: the population that leaves through the link.
        incoming: the one that enters; where there is a slot, it must be put there.
    """

    outgoing: np.ndarray
    incoming: np.ndarray


@dataclass(frozen=True)
class AddressTable:
    """Where each population comes from (pull) or goes to (push).

    Attributes:
        streaming: ``"pull"`` or ``"push"``.
        table: (Q, pitch) unsigned flat addresses; padding columns hold their own address.
        halo_start: first halo slot; pull receives into the halo slots, push sends from them.
        n_halo: number of halo slots.
        n_slots: size of one population buffer.
        crossing: (k,) flat addresses at the other end of the exchange: pull packs what it sends from there, push
            unpacks what it receives to there.
        links: where the opening links find and leave their populations.
        slotted: the same of the links into slotted walls.
        folded: the same of the links into labelled walls without slots; only read, to measure forces.
    """

    streaming: str
    table: np.ndarray
    halo_start: int
    n_halo: int
    n_slots: int
    crossing: np.ndarray
    links: LinkAddresses
    slotted: LinkAddresses
    folded: LinkAddresses


def build_addresses(domain: LocalDomain, streaming: str) -> AddressTable:
    """Fold a local domain into the address table of a streaming pattern.

    Half-way bounce-back: the population that would come from a wall is the node's own, reversed
    (Ladd, J. Fluid Mech. 271, 285 (1994)).
    """
    halo, links, pitch = domain.halo, domain.links, domain.pitch
    opposite = domain.lattice.opposite
    pull = streaming == "pull"
    halo_start = domain.lattice.q * pitch
    n_halo = halo.n_receive if pull else halo.n_send
    link_start = halo_start + n_halo
    n_slots = link_start + links.n_links + domain.slotted.n_links
    table = _bulk_table(domain, pull, np.uint32 if n_slots < 2**32 else np.uint64)
    records = links.join(domain.slotted)
    slot = link_start + np.arange(records.n_links)
    _fold_mirrored(table, domain, pull)
    table[opposite[records.q] if pull else records.q, records.node] = slot
    sends = halo.send_q * pitch + halo.send_node
    receives = halo.receive_q * pitch + halo.receive_node
    table.reshape(-1)[receives if pull else sends] = halo_start + np.arange(n_halo)
    leaving, entering = (q * pitch + records.node for q in (records.q, opposite[records.q]))
    outgoing, incoming = (leaving, slot) if pull else (slot, entering)
    first, rest = slice(None, links.n_links), slice(links.n_links, None)
    folded = domain.folded
    q_at_node, q_at_table = (folded.q, opposite[folded.q]) if pull else (opposite[folded.q], folded.q)
    at_node = q_at_node * pitch + folded.node
    via_table = table[q_at_table, folded.node].astype(np.int64)
    return AddressTable(
        streaming=streaming,
        table=table,
        halo_start=halo_start,
        n_halo=n_halo,
        n_slots=n_slots,
        crossing=sends if pull else receives,
        links=LinkAddresses(outgoing[first], incoming[first]),
        slotted=LinkAddresses(outgoing[rest], incoming[rest]),
        folded=LinkAddresses(at_node, via_table) if pull else LinkAddresses(via_table, at_node),
    )


def _fold_mirrored(table: np.ndarray, domain: LocalDomain, pull: bool) -> None:
    """Free slip: the population that would come from the wall left the mirrored node."""
    mirrored, opposite = domain.mirrored, domain.lattice.opposite
    if pull:
        table[mirrored.q_in, mirrored.node] = opposite[mirrored.q_far] * domain.pitch + mirrored.far
    else:
        table[mirrored.q_out, mirrored.node] = mirrored.q_far * domain.pitch + mirrored.far


def _bulk_table(domain: LocalDomain, pull: bool, dtype) -> np.ndarray:
    """Fluid and wall links; the entries of opening and remote links are set by the caller."""
    opposite = domain.lattice.opposite
    table = np.empty((domain.lattice.q, domain.pitch), dtype=dtype)
    far_direction = opposite if pull else np.arange(domain.lattice.q)
    _fill_bulk(table, domain.neighbour, far_direction, opposite)
    return table


@njit(parallel=True, cache=True)
def _fill_bulk(table, neighbour, far_direction, opposite):
    pitch = table.shape[1]
    n_nodes = neighbour.shape[1]
    for q in range(table.shape[0]):
        far = neighbour[far_direction[q]]
        for n in prange(pitch):
            address = q * pitch + n
            if n < n_nodes and far[n] >= 0:
                address = q * pitch + far[n]
            elif n < n_nodes and (far[n] == WALL_LINK or REMOTE_LINK < far[n] <= FIRST_WALL_LINK):
                address = opposite[q] * pitch + n
            table[q, n] = address
