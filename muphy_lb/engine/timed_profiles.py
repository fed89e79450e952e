"""Profiles that change their shape with time: the momentum of their links follows from the amplitudes in force."""

import numpy as np

from muphy_lb.engine.timed_values import TimedValues
from muphy_lb.parallel.task import ON_OPENINGS


def timed_momenta(backend, timed: TimedValues, profiles, momentum: np.ndarray, boundary: np.ndarray) -> tuple:
    """The momentum of all opening links for either copy of the values; see
    :class:`~muphy_lb.engine.timed_values.TimedValues`, which from now on keeps it up to date.

    Args:
        backend: the device.
        timed: values in force, whose last ones but the force are the amplitudes, opening after opening.
        profiles: (columns, links) weights by number of the opening, of its links in the order of the launch.
        momentum: (L,) of all links, of which those of other openings stay as they are.
        boundary: (L,) opening of each link.
    """
    real = backend.precision.real
    copies = tuple(backend.array(momentum.astype(real)) for _ in range(2))
    first = timed.n_values - sum(len(weights) for weights in profiles.values())
    for number, weights in profiles.items():
        last = first + len(weights)
        if weights.size:
            shape = backend.array(np.flatnonzero(boundary == number)), backend.array(weights.astype(real).reshape(-1))
            pairs = enumerate(copies)
            timed.follow([_bound(backend, timed, (copy, *shape), (parity, first, last)) for parity, copy in pairs])
        first = last
    return copies


def _bound(backend, timed: TimedValues, arrays: tuple, amplitudes: tuple[int, int, int]):
    parity, first, last = amplitudes
    values = backend.view(timed.of_step(parity), first, last)
    return backend.bind("profile", *arrays, values, ON_OPENINGS)
