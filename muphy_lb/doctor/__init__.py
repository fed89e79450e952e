"""The command ``muphy-lb doctor``: what this machine offers the solver, and what to install for what is missing."""
