"""Dissolved species that the flow carries, diffusion spreads and reactions change, as a physics package. ``section``
holds their keys, ``rates`` reads the rate laws of a case, ``reactions`` integrates these over a step, ``package`` makes
the scalars, ``observers`` measures what leaves, what walls take up, and what is there at the end of a run,
``residence`` the residence times of the fluid."""
