"""AddressTable: geometry, walls, periodicity, halo and openings folded into one table of flat addresses.

A population buffer is one flat array: Q rows of ``pitch`` populations, then the halo slots, then one slot per opening
link. Pull reads ``f[q] = old[table[q, n]]``; push writes ``new[table[q, n]] = f[q]``. The bulk loop meets no branch.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from geometry.neighbours import WALL_LINK
from muphy_lb.domain.local import LocalDomain

STREAMINGS = ("pull", "push")


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
        link_outgoing: (L,) flat address of the population that leaves through each opening link.
        link_incoming: (L,) flat address where the population that enters through the link must be put.
    """

    streaming: str
    table: np.ndarray
    halo_start: int
    n_halo: int
    n_slots: int
    crossing: np.ndarray
    link_outgoing: np.ndarray
    link_incoming: np.ndarray


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
    n_slots = link_start + links.n_links
    table = _bulk_table(domain, pull, np.uint32 if n_slots < 2**32 else np.uint64)
    link_slot = link_start + np.arange(links.n_links)
    at_node = opposite[links.q] if pull else links.q
    table[at_node, links.node] = link_slot
    sends = halo.send_q * pitch + halo.send_node
    receives = halo.receive_q * pitch + halo.receive_node
    table.reshape(-1)[receives if pull else sends] = halo_start + np.arange(n_halo)
    leaving = links.q * pitch + links.node
    entering = opposite[links.q] * pitch + links.node
    return AddressTable(
        streaming=streaming,
        table=table,
        halo_start=halo_start,
        n_halo=n_halo,
        n_slots=n_slots,
        crossing=sends if pull else receives,
        link_outgoing=leaving if pull else link_slot,
        link_incoming=link_slot if pull else entering,
    )


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
            elif n < n_nodes and far[n] == WALL_LINK:
                address = opposite[q] * pitch + n
            table[q, n] = address
