"""The collision of the step ahead, where the streaming stores populations before it: what leaves the nodes is then not
known otherwise. It goes to the other buffer, which the step ahead overwrites."""

from muphy_lb.domain.streaming import EDGE, INTERIOR
from muphy_lb.engine.step import StepBinder
from muphy_lb.model.model import FieldValue


def collide_ahead(engine, binder: StepBinder) -> None:
    """Collide all nodes and stream within the rank; the state, and the fields that a collision writes, stay."""
    backend, parity = engine.backend, engine.parity
    written = [engine.fields.array(FieldValue(name), side) for name in engine.model.stored for side in (0, 1)]
    kept = [(array, backend.to_host(array)) for array in written]
    if engine.counts_steps:
        backend.update(engine.parameters.step, backend.to_host(engine.parameters.step) + 1)
    for part in (EDGE, INTERIOR):
        nodes = binder.nodes(part, parity)
        if nodes is not None:
            engine.bind_stream_collide(nodes, parity, engine.shape)()
    backend.synchronise()
    if engine.counts_steps:
        backend.update(engine.parameters.step, backend.to_host(engine.parameters.step) - 1)
    for array, values in kept:
        backend.update(array, values)
