"""The populations that left through openings in the last step.

Streaming that stores populations before their collision keeps them beside the state, in the slots of the opening links.
Flow rates are measured from them, by outputs and by conditions that answer their flow, so checkpoints must hold them.
With the other streaming patterns flow rates follow from the stored populations.
"""

from collections.abc import Mapping

import numpy as np

from muphy_lb.engine.probe import Probe

LINK, POPULATION = "link", "population"


def leaving_populations(engine, communicator) -> dict[str, np.ndarray]:
    """``link``, (L,) ascending numbers of all opening links, voxel id times Q plus direction, and ``population``, (L,)
    the populations that left through them, on rank 0; empty on the others, and with streaming that does not need them;
    collective."""
    if not engine.model.streaming.stores_before_collision:
        return {}
    link, address = _links(engine)
    found = np.zeros(0)
    if link.size:
        engine.backend.synchronise()
        found = Probe(engine.backend, engine.buffers, (address, address)).read(engine.parity)
    gathered = communicator.gather((link, found))
    if gathered is None:
        return {}
    links, populations = (np.concatenate(parts) for parts in zip(*gathered, strict=True))
    order = np.argsort(links)
    return {LINK: links[order], POPULATION: populations[order]}


def restore_leaving(engine, record: Mapping[str, np.ndarray]) -> None:
    """Continue from a record of :func:`leaving_populations`, the same on every rank; an empty one changes nothing."""
    link, address = _links(engine)
    if not record or not link.size:
        return
    backend = engine.backend
    position = np.searchsorted(record[LINK], link)
    stored = (record[POPULATION][position] * backend.precision.unit).astype(backend.precision.storage)
    backend.bind("scatter", backend.array(stored), engine.buffers[engine.parity], backend.array(address))()
    backend.synchronise()


def _links(engine) -> tuple[np.ndarray, np.ndarray]:
    """(L,) numbers of the opening links of this rank, and (L,) addresses of the populations that leave through them.
    Only the first phase is needed: streaming that stores before collision has no other."""
    links, q_count = engine.domain.links, engine.model.lattice.q
    return engine.domain.voxel[links.node] * q_count + links.q, engine.addresses.links[0].outgoing
