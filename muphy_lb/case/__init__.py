"""case: the case file, typed, closed and complete; one module per group of sections."""

from muphy_lb.case.case import Case, case_from_dict, load_case

__all__ = ["Case", "case_from_dict", "load_case"]
