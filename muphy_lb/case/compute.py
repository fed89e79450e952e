"""The section of the case file about how a flow is computed."""

from typing import Annotated, Literal

from pydantic import Field

from muphy_lb.backends import BACKENDS
from muphy_lb.case.section import Positive, Section

Speeds = Annotated[tuple[Positive, ...], Field(strict=False)]


class ComputeSection(Section):
    """How the flow is computed; it does not change the physics."""

    backend: Literal["auto", *BACKENDS] = "auto"
    """what runs the kernels"""
    precision: Literal["fp64", "fp32", "fp16"] = "fp32"
    """type of the stored populations; fp16 is computed with in fp32"""
    streaming: Literal["pull", "push", "aa"] = "pull"
    """gather before or scatter after the collision, or in place, which takes half the memory"""
    order: Literal["lexicographic", "tiles", "curve"] = "lexicographic"
    """how a rank runs through its nodes"""
    transport: Literal["auto", "host", "cuda-aware", "nccl", "peer"] = "auto"
    """how GPUs of different ranks exchange halos; auto takes the fastest that works"""
    partition: str = "auto"
    """how nodes are shared among ranks: a method, a stored partitioning, or auto, the shortest predicted step"""
    rank_speeds: Speeds = ()
    """relative speeds of the ranks, by which nodes are shared; empty if they are equal"""
