"""Sums at nodes that the last collision has read, such as those of forces from particles. The momentum of the stored
populations holds a share of them, so moments of the present state need them: those that are written, and those of nodes
beside openings. Few nodes have any; records hold these alone."""

from collections.abc import Mapping

import numpy as np

NODE, VALUE = "node", "value"


def last_sums(engine, communicator) -> dict[str, dict[str, np.ndarray]]:
    """By name of the field, ``node``, (k,) ascending node-list numbers of the nodes at which it is not 0, and
    ``value``, (k, components) int64 its values there, on rank 0; empty on the others; collective."""
    records = {}
    for name in engine.fields.sums:
        nodes, values = engine.fields.sums_at(name)
        gathered = communicator.gather((engine.domain.number[nodes], values))
        if gathered is not None:
            number, value = (np.concatenate(parts) for parts in zip(*gathered, strict=True))
            order = np.argsort(number)
            records[name] = {NODE: number[order], VALUE: value[order]}
    return records


def restore_sums(engine, records: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Continue from records of :func:`last_sums`, the same on every rank; a field without one is 0 everywhere."""
    for name, n_components in engine.fields.sums.items():
        record = records.get(name, {NODE: np.empty(0, np.int64), VALUE: np.empty((0, n_components), np.int64)})
        _, own, there = np.intersect1d(engine.domain.number, record[NODE], assume_unique=True, return_indices=True)
        engine.fields.set_sums(name, own, record[VALUE][there])
