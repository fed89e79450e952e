"""The section of the case file about how a flow is computed."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from muphy_lb.backends import BACKENDS
from muphy_lb.case.choice import OneOf
from muphy_lb.case.section import Positive, Section

if TYPE_CHECKING:
    BackendName = str
else:  # names that are known only when the program runs
    BackendName = Literal["auto", *BACKENDS]
Speeds = Annotated[tuple[Positive, ...], Field(strict=False)]


class ComputeSection(Section):
    """How the flow is computed; it does not change the physics."""

    backend: BackendName = "auto"
    """what runs the kernels"""
    precision: Annotated[str, OneOf("muphy_lb.precision", "PRECISIONS")] = "fp32"
    """type of the stored populations; fp16 is computed with in fp32"""
    streaming: Annotated[str, OneOf("muphy_lb.domain.streaming", "STREAMINGS")] = "pull"
    """gather before or scatter after the collision, or in place, which takes half the memory"""
    order: Annotated[str, OneOf("muphy_lb.domain.order", "ORDERS")] = "lexicographic"
    """how a rank runs through its nodes"""
    transport: Annotated[str, OneOf("muphy_lb.parallel.choice", "TRANSPORTS")] = "auto"
    """how GPUs of different ranks exchange halos; auto takes the fastest that works"""
    partition: str = "auto"
    """how nodes are shared among ranks: a method, a stored partitioning, or auto, the shortest predicted step"""
    rank_speeds: Speeds = ()
    """relative speeds of the ranks, by which nodes are shared; empty if they are equal"""
