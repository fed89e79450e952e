"""case: the case file, typed, closed and complete; one module per group of sections, put together in ``case.case``."""
