"""Functions that Numba compiles for CPUs, and what it has compiled on disk."""

import numba

from muphy_lb.base.kept import helpers
from muphy_lb.base.kept.known import is_known

NEWEST_TRIED = (0, 68)  # version of Numba up to which :mod:`muphy_lb.base.kept.cpu_store` was tried


def stored(jit):
    """A decorator for functions: ``jit``, whose compiled code is kept on disk if this Numba is known."""
    if not is_known("Numba", numba.version_info.short, NEWEST_TRIED):
        return jit
    from muphy_lb.base.kept.cpu_store import stored as kept_on_disk

    return kept_on_disk(jit)


def njit(cache: bool = False, usually: str | tuple | None = None, subject: str = "", **options):
    """``numba.njit``. With ``cache``, compiled code is kept in the store of this program: Numba's own runs the content
    of its files without asking for their owner.

    Args:
        usually: types of the arguments, as Numba writes them, with which nearly every run calls it: at a first start it
            is compiled beside others (:mod:`muphy_lb.base.kept.helpers`).
        subject: that only runs have which call it.
    """
    compiled = numba.njit(**options)
    if not cache:
        return compiled

    def decorate(function):
        kernel = stored(compiled)(function)
        if usually:
            helpers.usually(kernel, usually, subject)
        return kernel

    return decorate
