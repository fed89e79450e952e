"""parallel: the ranks, the halo exchange, and values in rank-independent order."""

from muphy_lb.parallel.communicator import SerialCommunicator, connect, wait_for_turn
from muphy_lb.parallel.exchange import HaloExchange, Staging
from muphy_lb.parallel.gather import NodeGather

__all__ = ["HaloExchange", "NodeGather", "SerialCommunicator", "Staging", "connect", "wait_for_turn"]
