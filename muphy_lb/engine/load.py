"""What a step costs at each node, where that changes while a flow goes on."""

import numpy as np

from muphy_lb.engine.engine import Engine


def has_load(engine: Engine) -> bool:
    """Whether a step costs more at some nodes than at others, and not always at the same."""
    return bool(engine.model.occupied)


def node_load(engine: Engine) -> np.ndarray:
    """(n,) float32 cost of the next step at every local node, in steps of a node with fluid; 0 without fluid."""
    model = engine.model
    if not model.occupied:
        return np.ones(engine.domain.n_nodes, dtype=np.float32)
    kind = engine.fields.get(model.occupied, engine.parity)
    load = (kind != 0).astype(np.float32)
    for value, cost in model.costs.items():
        load[kind == value] = cost
    return load


def n_occupied(engine: Engine) -> int:
    """Number of local nodes with fluid."""
    model, n_nodes = engine.model, engine.domain.n_nodes
    return int(np.count_nonzero(engine.fields.get(model.occupied, engine.parity))) if model.occupied else n_nodes
