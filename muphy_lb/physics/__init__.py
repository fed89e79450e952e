"""physics: models that declare fields and stages; each folder below this one is a physics package (``base.registry``).

- ``package``: the contract of a package with the rest of the program.
- ``scalar``: CarriedScalar, any scalar with a linear source; ``scalar_series``: its series at outlets;
  ``scalar_walls``: its fluxes through walls.
- ``age/``, ``dissipation/``, ``fluctuating/``, ``free_surface/``, ``particles/``, ``porous_medium/``, ``species/``,
  ``thermal/``, ``two_fluid/``: the packages. In each, ``section`` holds its keys of the case file, ``package`` its
  entry, ``observers`` its files and lines.
"""
