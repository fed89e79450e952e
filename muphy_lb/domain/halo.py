"""The halo: populations that cross between ranks, in an order that both sides derive independently, and the addresses
from which a rank packs them and to which it unpacks them."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.domain.links import SpecularLinks
from muphy_lb.domain.part import Part
from muphy_lb.domain.streaming import Pattern
from muphy_lb.lattice import Lattice
from muphy_lb.lattice.layout import flat_address


@dataclass(frozen=True)
class HaloPlan:
    """Populations sent to and received from each neighbour rank, one message each way per neighbour and step. Crossing
    links are sorted by neighbour rank, voxel id of the destination node, direction; sender and receiver derive the same
    list without communication."""

    neighbours: tuple[int, ...]  #: ranks, ascending
    #: (len(neighbours) + 1,) message j is ``[send_start[j], send_start[j + 1])`` of the send list
    send_start: np.ndarray
    #: send_node, send_q: local node and direction of each population that is sent
    send_node: np.ndarray
    send_q: np.ndarray
    #: receive_start, receive_node, receive_q: the same for populations that are received; the node is the destination
    receive_start: np.ndarray
    receive_node: np.ndarray
    receive_q: np.ndarray
    #: sent_images, received_images: (2 R,) positions of the populations that the planes of openings reflect; their
    #: ``receive_q`` is the direction of the link that reads them
    sent_images: np.ndarray
    received_images: np.ndarray

    @property
    def n_send(self) -> int:
        """Populations sent per step."""
        return int(self.send_node.size)

    @property
    def n_receive(self) -> int:
        """Populations received per step."""
        return int(self.receive_node.size)


def plan_halo(part: Part, lattice: Lattice, special, specular: SpecularLinks, mirrored: SpecularLinks) -> HaloPlan:
    """Plan the halo of one rank.

    Args:
        part: its part of the geometry.
        special: (Q, n) ``table`` of positions in the part of the nodes at x + c_q, and ``through_solids``, the same
            through solids, which determines the neighbour ranks; nodes of the plan are columns of these.
        specular: the links that slip walls reflect.
        mirrored: the links that the planes of openings reflect. To the node of its mirror image each sends what leaves
            through it, and what leaves in the direction of the image.
    """
    table, through_solids = special.table, special.through_solids
    owner, voxel, rank = part.owner, part.nodes.voxel, part.rank
    crossings, directions = [], []
    for direction, row in enumerate(table):
        fluid = np.flatnonzero(row >= 0)
        crossing = fluid[owner[row[fluid]] != rank]
        crossings.append(crossing)
        directions.append(np.full(crossing.size, direction))
    node, q = np.concatenate(crossings), np.concatenate(directions)
    crosses = owner[specular.far] != rank
    far, far_q = np.append(table[q, node], specular.far[crosses]), np.append(q, specular.q_far[crosses])
    node, q = np.append(node, specular.node[crosses]), np.append(q, specular.q_out[crosses])
    # f_q leaves node for the far node; by symmetry a population of the far node arrives at node in the opposite
    # direction.
    arriving_q = lattice.opposite[q]
    far_key, own_key = far_q, arriving_q
    images = mirrored.select(owner[mirrored.far] != rank)
    image_q = lattice.opposite[images.q_far]
    for k, leaving in enumerate((images.q_out, image_q), start=1):
        node, q, far = np.append(node, images.node), np.append(q, leaving), np.append(far, images.far)
        arriving_q = np.append(arriving_q, images.q_out)
        far_key = np.append(far_key, k * lattice.q + image_q)
        own_key = np.append(own_key, k * lattice.q + images.q_out)
    far_rank = owner[far]
    send = np.lexsort((far_key, voxel[far], far_rank))
    own = table[0, node]
    receive = np.lexsort((own_key, voxel[own], far_rank))
    adjacent = np.unique(owner[through_solids[through_solids >= 0]])
    neighbours = np.union1d(far_rank, adjacent[adjacent != rank])
    start = np.append(np.searchsorted(far_rank[send], neighbours), far_rank.size)
    return HaloPlan(
        neighbours=tuple(int(r) for r in neighbours),
        send_start=start,
        send_node=node[send],
        send_q=q[send],
        receive_start=start,
        receive_node=node[receive],
        receive_q=arriving_q[receive],
        sent_images=np.argsort(send)[node.size - 2 * images.node.size :],
        received_images=np.argsort(receive)[node.size - 2 * images.node.size :],
    )


@dataclass(frozen=True)
class Exchange:
    """One exchange; message j is sent to and received from neighbour j."""

    pack: np.ndarray | slice  #: (n,) flat addresses of the values that are sent, or a slice of the buffer
    pack_start: np.ndarray  #: (neighbours + 1,) message j is ``[pack_start[j], pack_start[j + 1])`` of it
    #: unpack, unpack_start: the same for the values that are received
    unpack: np.ndarray | slice
    unpack_start: np.ndarray
    #: whether received values are added to those in the buffer, as integers, instead of replacing them
    accumulates: bool = False
    #: whether messages are copied at once from where they arrive, so that their sender may be notified: the exchange
    #: may follow itself, several times in a step or every so many. All ranks agree.
    acknowledged: bool = False
    #: if not 0, messages are equally long, each a number n and rows of this length; no more than the first n values of
    #: each row need to be sent. A part of the exchange does not know that.
    row: int = 0

    @property
    def n_pack(self) -> int:
        """Number of values sent."""
        return int(self.pack_start[-1])

    @property
    def n_unpack(self) -> int:
        """Number of values received."""
        return int(self.unpack_start[-1])

    def part(self, chosen) -> "Exchange":
        """The exchange with a subset of the neighbours, given by their ascending positions."""
        sent, received = (self.pack, self.pack_start), (self.unpack, self.unpack_start)
        return Exchange(*_messages(*sent, chosen), *_messages(*received, chosen), self.accumulates, self.acknowledged)

    def shortened(self, most: int) -> "Exchange":
        """The exchange with each message cut to at most ``most`` values."""
        everyone = range(len(self.pack_start) - 1)
        sent, received = (self.pack, self.pack_start), (self.unpack, self.unpack_start)
        return Exchange(*_messages(*sent, everyone, most), *_messages(*received, everyone, most))


def _messages(addresses, start, chosen, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The (first) addresses of some messages, concatenated, and the start of each."""
    if isinstance(addresses, slice):
        addresses = np.arange(addresses.start, addresses.stop)
    parts = [addresses[start[j] : start[j + 1]][:most] for j in chosen]
    return np.concatenate([addresses[:0], *parts]), np.cumsum([0, *(part.size for part in parts)])


def plan_exchanges(domain, patterns: tuple[Pattern, ...], halo_start: int, images) -> tuple[Exchange, ...]:
    """The exchange of each phase. Pull gathers the leaving populations and receives directly into the halo slots; push
    sends directly from them. With in-place streaming a pair of directions does the former before the step that
    exchanges it with the neighbours, and the latter, with the slots that this step has filled, before the next one.
    Populations that the planes of openings reflect always arrive in halo slots, from which the openings take them;
    ``images`` are, for each phase, (2 R,) addresses of those that are sent."""
    halo, pattern = domain.halo, patterns[0]
    slots = slice(halo_start, halo_start + (halo.n_receive if pattern.upstream else halo.n_send))
    if pattern.in_place:
        return tuple(_in_place(domain, *each, halo_start) for each in zip(patterns, images, strict=True))
    if pattern.upstream:
        leaving = flat_address(halo.send_q, halo.send_node, domain.lattice.q)
        return (Exchange(leaving, halo.send_start, slots, halo.receive_start),)
    arriving = flat_address(halo.receive_q, halo.receive_node, domain.lattice.q)
    if not halo.sent_images.size:
        return (Exchange(slots, halo.send_start, arriving, halo.receive_start),)
    leaving = halo_start + np.arange(halo.n_send)
    arriving[halo.received_images] = leaving[halo.sent_images]
    leaving[halo.sent_images] = images[0]
    return (Exchange(leaving, halo.send_start, arriving, halo.receive_start),)


def _in_place(domain, pattern: Pattern, images: np.ndarray, halo_start: int) -> Exchange:
    """In each message the directions of this phase and reflected populations come first, then those that return from
    the slots."""
    halo, lattice = domain.halo, domain.lattice
    crossing = flat_address(lattice.opposite[halo.send_q], halo.send_node, lattice.q)
    slots = halo_start + np.arange(halo.n_receive)
    sends, receives = pattern.exchanges(halo.send_q), pattern.exchanges(halo.receive_q)
    sends[halo.sent_images] = receives[halo.received_images] = True
    crossing[halo.sent_images] = images
    out, back = _block(halo, halo.send_start), _block(halo, halo.receive_start)
    pack = _merge(halo, (crossing[sends], out[sends]), (slots[~receives], back[~receives]))
    unpack = _merge(halo, (slots[receives], back[receives]), (crossing[~sends], out[~sends]))
    return Exchange(*pack, *unpack)


def _block(halo: HaloPlan, start) -> np.ndarray:
    """Number of the message of each element of a list."""
    return np.repeat(np.arange(len(halo.neighbours)), np.diff(start))


def _merge(halo: HaloPlan, *parts) -> tuple[np.ndarray, np.ndarray]:
    """Addresses sorted by message, in each message part after part, and the start of each message."""
    address, message = (np.concatenate(column) for column in zip(*parts, strict=True))
    counts = np.bincount(message, minlength=len(halo.neighbours))
    return address[np.argsort(message, kind="stable")], np.concatenate(([0], np.cumsum(counts)))
