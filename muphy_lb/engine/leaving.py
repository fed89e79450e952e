"""What has left through openings in the step behind.

Streaming that stores populations before their collision keeps it beside the state, in the slots of the opening links,
and fluxes are measured from there: by tables, and by conditions that answer their flow. So it belongs to checkpoints.
With the other streamings fluxes follow from the populations.
"""

from collections.abc import Mapping

import numpy as np

from muphy_lb.engine.probe import Probe

LINK, POPULATION = "link", "population"


def leaving_populations(engine, communicator) -> dict[str, np.ndarray]:
    """``link``, (L,) ascending numbers of all opening links, voxel id times Q plus direction, and ``population``, (L,)
    what has left through them, on rank 0; empty on the others, and with streaming that stores it elsewhere; collective.
    """
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
    """Continue from such a record, the same on every rank; one that is empty changes nothing."""
    link, address = _links(engine)
    if not record or not link.size:
        return
    backend = engine.backend
    position = np.searchsorted(record[LINK], link)
    stored = (record[POPULATION][position] * backend.precision.unit).astype(backend.precision.storage)
    backend.bind("scatter", backend.array(stored), engine.buffers[engine.parity], backend.array(address))()
    backend.synchronise()


def _links(engine) -> tuple[np.ndarray, np.ndarray]:
    """(L,) number and (L,) address of what leaves, of the opening links of this rank; streaming that stores it beside
    the state has one phase."""
    links, q_count = engine.domain.links, engine.model.lattice.q
    return engine.domain.voxel[links.node] * q_count + links.q, engine.addresses.links[0].outgoing
