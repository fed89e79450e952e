"""Tables of the page "The papers": the papers' numbers, and what was measured beside them.

Numbers of speed are those of ``muphy_lb.bench.papers.published``, numbers of flows those of the validation.
``bench/papers/measured.json`` holds the measurements: under the name of a table a list of ``device``, ``command``,
``date``, ``commit`` and ``rows``. ``docs/record_papers`` adds those of a benchmark's JSON file.
"""

import json
from pathlib import Path

from muphy_lb.bench.papers.published import BERNASCHI, OBRECHT, TABLES, TOELKE
from muphy_lb.bench.papers.table import PaperTable, named, shown
from muphy_lb.validation.flow.cylinders import TOELKE_LATTICE
from muphy_lb.validation.thermal.heated_cavity import THELMA, TRIC

MEASURED = Path(__file__).resolve().parents[1] / "bench" / "papers" / "measured.json"
RAYLEIGHS = sorted(THELMA)
FLOWS = (
    PaperTable(
        *(TOELKE, "Table 4", "18 x 18 cylinders, relative errors of the solid fraction and of k, by mesh"),
        tuple(map(str, TOELKE_LATTICE)),
        {
            "solid fraction": tuple(theta for theta, _ in TOELKE_LATTICE.values()),
            "k, bounce-back": tuple(k for _, k in TOELKE_LATTICE.values()),
        },
        "the paper does not say how circles become voxels",
    ),
    PaperTable(
        *(OBRECHT, "Table 5 and Section 5.4", "Nusselt number of the heated cube of 256^3, by Rayleigh number"),
        tuple(f"{rayleigh:.0e}" for rayleigh in RAYLEIGHS),
        {
            "the paper": tuple(map(THELMA.get, RAYLEIGHS)),
            "Tric et al. 2000": tuple(map((TRIC | {1e8: 30.311}).get, RAYLEIGHS)),
        },
    ),
    PaperTable(
        *(OBRECHT, "Section 5.4", "Rayleigh numbers [1e7] between which the flow of the heated cube is unsteady"),
        ("from", "to"),
        {"the paper, +- 0.0005": (3.2245, 6.4015)},
    ),
    PaperTable(
        *(BERNASCHI, "references 1 to 3", "exponent of the time of translocation through a nanopore"),
        ("in the fluid", "at rest"),
        {"Fyta et al.; free-draining theory": (1.28, 1.588)},
    ),
)
BY_KEY = {table.key: table for table in (*TABLES, *FLOWS)}


def page_table(key: str) -> str:
    """A table of the page, with the commands that measured, as Markdown. Raises KeyError: no paper has it."""
    table, entries = BY_KEY[key], json.loads(MEASURED.read_text()).get(key, [])
    rows = {f"published, {row}": numbers for row, numbers in table.rows.items()}
    rows |= {
        f"**{named(entry['device'], row)}**": numbers for entry in entries for row, numbers in entry["rows"].items()
    }
    lines = [f"*{table.name}*: {table.content}", "", f"| | {' | '.join(table.columns)} |"]
    lines += ["|---" * (1 + len(table.columns)) + "|"]
    lines += [f"| {label} | {' | '.join(map(shown, numbers))} |" for label, numbers in rows.items()]
    sources = [f"{e['device']}: `{e['command']}`, {e['date']}, commit {e['commit']}" for e in entries]
    return "\n".join([*lines, "", "; ".join(filter(None, (table.note, *(sources or ["not measured yet"])))), ""])
