"""The command ``muphy-lb doctor``: what this machine offers the solver, and what to install for what is missing.
``findings`` looks at packages, processors, GPUs and ranks, ``trial`` tries them in processes of their own, ``command``
prints."""
