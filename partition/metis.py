"""METIS k-way graph partitioning; the only module that imports pymetis.

Source: G. Karypis and V. Kumar, "A fast and high quality multilevel scheme for partitioning irregular graphs",
SIAM J. Sci. Comput. 20, 359 (1998).
"""

import numpy as np
import pymetis

from muphy_lb.partition.costs import part_shares
from muphy_lb.partition.curve import hilbert_cut
from muphy_lb.partition.graph import Graph

SEED = 1
IMBALANCE_PER_MILLE = 10


def metis_cut(graph: Graph, n_parts: int, shares=None) -> np.ndarray:
    """(n,) int32 owners with a small total weight of cut links; deterministic.

    The target is an imbalance of 1.01 relative to equal parts, or to parts in proportion to ``shares``; parts need not
    be connected. METIS may leave parts empty if parts have few nodes or a node is heavier than a part should be: then
    the Hilbert curve, which leaves none empty, is used instead.
    """
    if n_parts == 1:
        return np.zeros(graph.n_nodes, dtype=np.int32)
    found = pymetis.part_graph(
        n_parts,
        pymetis.CSRAdjacency(graph.indptr, graph.indices),
        vweights=graph.weights,
        eweights=graph.link_weights,
        tpwgts=None if shares is None else part_shares(shares, n_parts).tolist(),
        recursive=False,
        options=pymetis.Options(seed=SEED, ufactor=IMBALANCE_PER_MILLE),
    )
    owner = np.asarray(found.vertex_part, dtype=np.int32)
    if np.bincount(owner, minlength=n_parts).min() == 0:
        return hilbert_cut(graph, n_parts, shares)
    return owner
