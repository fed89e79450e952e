"""What crosses links, where nodes may be only partly filled with fluid: the share of it that is fluid's."""

from collections.abc import Callable

import numpy as np

from muphy_lb.engine.boundary_links import N_SUMS, SUM_SCALE
from muphy_lb.engine.engine import Engine
from muphy_lb.model.model import PartlyFilled


def opening_sums(engine: Engine, n_openings: int) -> np.ndarray:
    """(n_openings, 3) int64 sums of fluid as of :meth:`muphy_lb.engine.engine.Engine.opening_sums`; densities are of
    all that is there."""
    filled, links = engine.model.filled, engine.domain.links
    if filled is None or links.n_links == 0:
        return engine.opening_sums(n_openings)
    flux, deviation = engine.link_fluxes()
    share, beside = _filling(engine, filled, links.node)
    numbers = np.stack((share * flux, share * deviation + (1.0 - share) * beside), axis=1)
    sums = np.zeros((n_openings, N_SUMS), dtype=np.int64)
    np.add.at(sums[:, :2], links.boundary, np.rint(numbers * SUM_SCALE).astype(np.int64))
    sums[:, 2] = np.bincount(links.boundary, minlength=n_openings)
    return sums


def wall_exchange(engine: Engine) -> np.ndarray:
    """(S + F,) exchange with walls as of :meth:`muphy_lb.engine.engine.Engine.wall_exchange`: that of fluid in its
    share of a node, and in the rest that of something at rest with a pressure."""
    return _of_fluid(engine, engine.wall_exchange())


def kept_wall_exchange(engine: Engine) -> Callable[[], np.ndarray]:
    """The same as a function, in the state at hand now; where all nodes are fluid it stays on the device until the
    next call."""
    if engine.model.filled is None:
        return engine.kept_wall_exchange()
    exchange = wall_exchange(engine)
    return lambda: exchange


def _of_fluid(engine: Engine, exchange: np.ndarray) -> np.ndarray:
    filled = engine.model.filled
    if filled is None or exchange.size == 0:
        return exchange
    links = engine.domain.linkwise.join(engine.domain.in_table)
    share, beside = _filling(engine, filled, links.node)
    return share * exchange + (1.0 - share) * 2.0 * engine.model.lattice.w[links.q] * beside


def _filling(engine: Engine, filled: PartlyFilled, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Share of nodes that is fluid, and the density, minus 1, of the pressure of the rest."""
    return filled.at(*(engine.fields.get(name, engine.parity)[nodes] for name in filled.fields))
