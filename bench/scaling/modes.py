"""The kinds of scaling."""

from collections.abc import Mapping
from types import MappingProxyType

STRONG, WEAK, WEAK_ROW = "strong", "weak", "weak-row"
MEANING: Mapping[str, str] = MappingProxyType(
    {
        STRONG: "the same nodes on every number of ranks",
        WEAK: "the nodes grow with the ranks, in a box as compact as possible",
        WEAK_ROW: "the nodes grow with the ranks, in a row of copies along z, like a longer core",
    }
)
