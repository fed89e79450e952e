"""The two kinds of scaling."""

from collections.abc import Mapping
from types import MappingProxyType

STRONG, WEAK = "strong", "weak"
MEANING: Mapping[str, str] = MappingProxyType(
    {STRONG: "the same nodes on every number of ranks", WEAK: "the nodes grow with the ranks"}
)
