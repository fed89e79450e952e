"""Libraries that only some answers need."""

from importlib import import_module
from types import ModuleType

from muphy_lb.base.errors import InputError

EXTRA = "notebook"
"""The extra of the installation that has them."""


def optional(name: str, what: str) -> ModuleType:
    """A library.

    Raises:
        InputError: it is not installed; the message says how to install it.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise InputError(
            f'{what} needs the package {name}, which is not installed: pip install "muphy_lb[{EXTRA}]", or pip install'
            f" {name}"
        ) from error
