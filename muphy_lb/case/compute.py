"""The section of the case file about how a flow is computed."""

from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, Field

from muphy_lb.case.section import AtLeastOne, OneOf, Positive, Section

Speeds = Annotated[tuple[Positive, ...], Field(strict=False)]


def _zero_or_more_than_1(limit: float) -> float:
    if limit != 0.0 and not limit > 1.0:
        raise ValueError("must be 0, for never, or more than 1, the load of equal ranks")
    return limit


class ComputeSection(Section):
    """How the flow is computed; it does not change the physics."""

    longest = MappingProxyType({"rank_speeds": 100_000})

    backend: Annotated[str, OneOf("muphy_lb.backends", "BACKENDS", ("auto",))] = "auto"
    """what runs the kernels"""
    precision: Annotated[str, OneOf("muphy_lb.base.precision", "PRECISIONS")] = "fp32"
    """type of the stored populations; fp16 is computed with in fp32"""
    streaming: Annotated[str, OneOf("muphy_lb.domain.streaming", "STREAMINGS")] = "pull"
    """gather before or scatter after the collision, or in place, which takes half the memory"""
    order: Annotated[str, OneOf("muphy_lb.domain.local", "ORDERS")] = "lexicographic"
    """how a rank runs through its nodes"""
    transport: Annotated[str, OneOf("muphy_lb.parallel.choice", "TRANSPORTS")] = "auto"
    """how GPUs of different ranks exchange halos; auto takes the fastest that works"""
    partition: str = "auto"
    """how nodes are shared among ranks: a method, a stored partitioning, or auto, the shortest predicted step"""
    rank_speeds: Speeds = ()
    """relative speeds of the ranks, by which nodes are shared; empty if they are equal"""
    rebalance: Annotated[float, AfterValidator(_zero_or_more_than_1)] = 1.3
    """load of the fullest rank over the mean beyond which a run shares its nodes anew, where physics moves the load; 0
    for never"""
    rebalance_every_steps: AtLeastOne = 500
    """steps between two looks at the loads"""
