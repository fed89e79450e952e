"""compare: one flow in several sizes on several backends, timed side by side. ``command`` is ``muphy-lb compare``,
``study`` the measurement and the agreement of backends."""
