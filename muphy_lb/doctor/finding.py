"""What the doctor finds: one line each."""

from dataclasses import asdict, dataclass

OK, MISSING, BROKEN, NOTE = "ok", "missing", "broken", "note"
"""There and working; not there; there, but not working; neither good nor bad."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        topic: what it is, such as ``"mpirun"``.
        state: ``"ok"``, ``"missing"``, ``"broken"`` or ``"note"``.
        text: what was found.
        remedy: what to do about it; empty where nothing needs to be done.
        is_needed: whether the solver cannot run without it.
    """

    topic: str
    state: str
    text: str
    remedy: str = ""
    is_needed: bool = False

    @property
    def is_fatal(self) -> bool:
        """Whether the solver cannot run because of it."""
        return self.is_needed and self.state in (MISSING, BROKEN)

    def line(self, width: int) -> str:
        """The finding as one line of text, its topic in a column of some width."""
        remedy = f" -> {self.remedy}" if self.remedy else ""
        return f"{self.state:<8}{self.topic:<{width}}  {self.text}{remedy}"

    def as_table(self) -> dict:
        """The attributes by name, for JSON."""
        return asdict(self)
