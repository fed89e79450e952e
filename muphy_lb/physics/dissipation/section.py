"""The case file's section [dissipation], of viscous dissipation."""

from muphy_lb.case.section import Section

SERIES_FILE = "dissipation.csv"
FILES = (SERIES_FILE,)
FIELD = "dissipation"
OUTPUT_FIELDS = (FIELD,)


class DissipationSection(Section):
    """The power that viscosity turns into heat, at every node and over the whole flow, in dissipation.csv."""


SECTION = DissipationSection
