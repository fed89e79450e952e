"""The permeability of a rock: its flows, their settling, and its limit on infinitely fine grids. ``command`` is
``muphy-lb permeability``, ``permeability`` its value or tensor, ``settled_flow`` one flow until k settles,
``time_step`` the time step that settles it soonest, ``refinement`` the cases on finer grids and their memory,
``refined_flow`` the limit with its error bar. ``relative_permeability`` and ``drainage`` are those of two fluids,
``displacement_steps`` the points of the latter, ``dissolve`` follows a solid that dissolves or grows,
``moving_surface`` the steps of its surface; ``curve``: tables and charts."""
