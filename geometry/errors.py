"""The error types of the geometry package."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from muphy_lb.base.errors import InputError


class GeometryError(InputError, ValueError):
    """Invalid geometric input: the message gives the quantity, its value, what is allowed and the remedy."""


#: A value of each option that some input needs.
EXAMPLES: Mapping[str, object] = MappingProxyType(
    {
        "spacing_m": 5e-6,
        "unit": "mm",
        "shape_zyx": [400, 400, 400],
        "dtype": "uint8",
        "header_bytes": 0,
        "channel": 0,
        "time": 0,
    }
)


class MissingOptionError(GeometryError):
    """An input that cannot be read without options that are not given.

    Attributes:
        problem: the message without the remedy.
        names: the options, of ``EXAMPLES``.
    """

    def __init__(self, problem: str, names: Sequence[str]):
        self.problem, self.names = problem, tuple(names)
        super().__init__(self.spelled("{}={!r}".format, ", such as "))

    def spelled(self, option: Callable[[str, object], str], such_as: str = ": ") -> str:
        """The message with each option and an example as a user writes them, such as ``--spacing-m 5e-6``."""
        return f"{self.problem}; give it{such_as}{' '.join(option(name, EXAMPLES[name]) for name in self.names)}"
