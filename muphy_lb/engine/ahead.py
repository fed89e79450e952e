"""Populations that arrive at the nodes in the step ahead, for measurements; the state is the same before and after.

Where the streaming stores populations before their collision, what leaves the nodes is not known otherwise: they
collide into the other buffer, which the step ahead overwrites. Where a stage between streaming and collision completes
what arrives, since nodes without fluid send nothing, it does so here, too.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from muphy_lb.backends.interface import Launch
from muphy_lb.domain.streaming import EDGE, INTERIOR
from muphy_lb.engine.step import StepBinder
from muphy_lb.model.model import ARRIVING, FieldValue, Stage


@contextmanager
def looking_ahead(engine, binder: StepBinder) -> Iterator[int]:
    """Complete the populations that arrive at the nodes in the step ahead; see
    :meth:`muphy_lb.engine.engine.Engine.looking_ahead`."""
    backend, streaming, changed = engine.backend, engine.model.streaming, list[Launch]()
    backend.synchronise()
    _count(engine, 1)
    if streaming.stores_before_collision:
        _collide(engine, binder)
    _fill_in(engine)
    for stage in _completing(engine.model.between):
        changed += _complete(engine, binder, stage)
    backend.synchronise()
    _count(engine, -1)
    try:
        yield streaming.completed_buffer(engine.parity)
    finally:
        backend.synchronise()
        for put_back in reversed(changed):
            put_back()
        engine.barrier()


def _completing(stages: Sequence[Stage]) -> list[Stage]:
    """Stages between streaming and collision that change what arrives, or what another of them reads."""
    found, read = list[Stage](), {ARRIVING}
    for stage in reversed(stages):
        if read & set(stage.writes):
            found.insert(0, stage)
            read.update(name.split("@")[0] for name in stage.reads)
    return found


def _count(engine, n_steps: int) -> None:
    """Let the model's operators read another number of the step, if any does."""
    if engine.counts_steps:
        step = engine.parameters.step
        engine.backend.update(step, engine.backend.to_host(step) + n_steps)


def _collide(engine, binder: StepBinder) -> None:
    """Collide all nodes and stream within the rank; the fields that a collision writes stay."""
    put_back = _keep_fields(engine, engine.model.stored)
    for part in (EDGE, INTERIOR):
        nodes = binder.nodes(part, engine.parity)
        if nodes is not None:
            engine.bind_stream_collide(nodes, engine.parity, engine.shape)()
    engine.backend.synchronise()
    put_back()


def _fill_in(engine) -> None:
    """Fill in what other ranks send, and what enters through links."""
    backend, parity, links = engine.backend, engine.parity, engine.boundary_links
    messages = engine.halo.exchanges[parity]
    if messages:
        messages.run()
    if links.has_openings:
        backend.openings_wait_for_edge()
        links.bind_openings(parity)()
        backend.edge_waits_for_openings()
    if links.has_linkwise_walls:
        links.bind_walls(parity, keeps_mass=False)()


def _complete(engine, binder: StepBinder, stage: Stage) -> list[Launch]:
    """Let a stage complete what arrives; returns what puts back all that it has changed."""
    parity = engine.parity
    engine.fields.exchange(stage.reads_at_neighbours, parity).run()
    engine.backend.synchronise()
    fields = [name for name in stage.writes if name != ARRIVING]
    put_back = [_keep_fields(engine, fields), *_keep_arriving(engine, stage)]
    for launch in binder.bind_between(stage, parity):
        launch()
    return put_back


def _keep_fields(engine, names: Sequence[str]) -> Launch:
    """A launch that brings fields back to their present values."""
    backend, sides = engine.backend, (False, True)
    arrays = [engine.fields.array(FieldValue(name, is_new), engine.parity) for name in names for is_new in sides]
    kept = [(array, np.array(backend.to_host(array))) for array in arrays]

    def put_back() -> None:
        for array, values in kept:
            backend.update(array, values)

    return put_back


def _keep_arriving(engine, stage: Stage) -> list[Launch]:
    """Launches that bring the populations that arrive at the nodes of a stage back to their present values."""
    backend, addresses, parity, where = engine.backend, engine.addresses, engine.parity, stage.where
    nodes = np.arange(engine.domain.n_nodes)
    if where:
        nodes = np.flatnonzero(engine.fields.get(where.field, parity) & where.mask)
    if not nodes.size:
        return []
    phase, buffer = parity % len(addresses.patterns), engine.buffers[parity]
    there = backend.array(addresses.resolve(phase, addresses.patterns[phase].load, nodes).reshape(-1))
    kept = backend.zeros(there.size, engine.precision.storage)
    backend.bind("gather", buffer, there, kept)()
    backend.synchronise()
    return [backend.bind("scatter", kept, buffer, there)]
