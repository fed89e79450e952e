"""The command ``muphy-lb new``: a commented case file for a vessel, a rock or a channel, ready to run."""
