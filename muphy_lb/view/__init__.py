"""A page that shows a run while it runs, in a browser on the same machine or behind an SSH tunnel.

Rank 0 starts a process of its own for the page (:mod:`muphy_lb.view.server`), so that drawing, browsers and whatever
connects to it do not hold up the steps. Between two steps, while somebody looks, all ranks collect the values that are
on display and nothing else (:mod:`muphy_lb.view.live`).

- Ranks: ``live`` (agreement), ``pace`` (rate, pause), ``gathering``, ``shown``, ``wall`` (nodes, scalars, shear).
- Between them: ``messages``; ``page`` (address, process).
- Process of the page: ``server``, ``renderer``, ``viewer``, ``layout``, ``controls``, ``curves``, ``scene``, ``style``.
"""

from muphy_lb.view.live import LiveView, view

__all__ = ["LiveView", "view"]
