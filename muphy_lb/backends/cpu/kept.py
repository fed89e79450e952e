"""Whether kernels for CPUs are kept on disk."""

import numba

from muphy_lb.backends.kept.known import is_known

NEWEST_TRIED = (0, 68)
"""Version of Numba up to which :mod:`muphy_lb.backends.cpu.kernel_store` was tried."""


def stored(jit):
    """A decorator for kernels: ``jit``, whose compiled code is kept on disk if this Numba is known."""
    if not is_known("Numba", numba.version_info.short, NEWEST_TRIED):
        return jit
    from muphy_lb.backends.cpu.kernel_store import stored as kept_on_disk

    return kept_on_disk(jit)
