"""parallel: the ranks, the halo exchange, and values in rank-independent order.

- ``communicator``: the ranks of a run, agreement on errors, gathering at nodes. ``watchdog``: reports a killed rank.
- ``task``: tasks of a step, their queues and their recording. ``exchange``: the tasks that carry the halo.
- ``choice``: the transport of each neighbour, by trial; ``transports/``: one file each.
"""

from muphy_lb.parallel.communicator import (
    NodeGather,
    SerialCommunicator,
    agreed,
    agreed_on_root,
    all_agreed,
    connect,
    from_root,
)
