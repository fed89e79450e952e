"""case: the case file, typed, closed and complete; one module per group of sections, put together in ``case.case``.

- ``toml``: text to tables and back; ``section``: the base of all sections and the types of values; ``choice``: names
  and keys that tables of the program add; ``usual``: usual values, by which a slip of a unit is noticed.
- ``case``: Case, and changes between two of them.
- ``substances``: density and viscosity of fluids by their names.
- The sections: ``geometry``, ``fluid``, ``lattice``, ``boundaries`` (openings, networks, walls), ``waveform``, ``run``
  (start, length, computation), ``output`` (files, probes, segments).
"""
