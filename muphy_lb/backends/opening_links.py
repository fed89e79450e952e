"""Access to opening links and openings (:class:`muphy_lb.backends.arrays.LinkArrays`), for each compiling backend."""


def leaving_beside(buffer, links, link, n_links, real):
    """The population that leaves through a link, and those reflected beside it."""
    return (
        real(buffer[links.outgoing[link]]),
        real(buffer[links.reflected[link]]),
        real(buffer[links.reflected[n_links + link]]),
        real(buffer[links.reflected[2 * n_links + link]]),
    )


def shares_of(links, k):
    """The shares of opening k."""
    s = links.shares
    return s[5 * k], s[5 * k + 1], s[5 * k + 2], s[5 * k + 3], s[5 * k + 4]


def plane_of(links, k):
    """The plane of opening k, if it has a pressure."""
    p = links.plane
    return p[4 * k], p[4 * k + 1], p[4 * k + 2], p[4 * k + 3]


def momenta_of(links, link):
    """Gains of a link per unit velocity: that of its opening, or along the link; and along the vessel."""
    return links.momentum[link], links.inside[link]
