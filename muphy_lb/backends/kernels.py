"""KernelTable: how a backend finds its kernels, by name or as supplied by a physics."""

from muphy_lb.backends.interface import Kernel, Launch
from muphy_lb.base.errors import BackendError


class KernelTable:
    """Base class of a backend: its kernels by name.

    Attributes:
        name: of the backend.
        kernels: by name, ``make(backend, *arguments, **options) -> Launch``.
    """

    name: str
    kernels: dict

    def bind(self, kernel: str | Kernel, *arguments, **options) -> Launch:
        """See :meth:`muphy_lb.backends.interface.Backend.bind`."""
        makers = {self.name: self.kernels.get(kernel)} if isinstance(kernel, str) else kernel.makers
        make = makers.get(self.name)
        if make is None:
            known = ", ".join(sorted(self.kernels))
            label = kernel if isinstance(kernel, str) else kernel.name
            raise BackendError(f"backend {self.name!r} has no kernel {label!r}; it has: {known}")
        return make(self, *arguments, **options)

    def release(self) -> None:
        """See :meth:`muphy_lb.backends.interface.Backend.release`."""
