"""The kinds of scaling."""

from collections.abc import Mapping
from types import MappingProxyType

STRONG, WEAK, WEAK_ROW = "strong", "weak", "weak-row"
MEANING: Mapping[str, str] = MappingProxyType(
    {
        STRONG: "the same nodes on every number of ranks",
        WEAK: "the nodes grow with the ranks, in a box as compact as can be",
        WEAK_ROW: "the nodes grow with the ranks, what can be tiled in a row along z, as a longer core does",
    }
)
