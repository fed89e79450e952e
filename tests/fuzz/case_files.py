"""Case files, values of ``--set``, and tables of waveforms and profiles, with hostile values under any key."""

import random
from functools import partial
from pathlib import Path

from tests.case_tables import sections, tables
from tests.fuzz import hostile
from tests.fuzz.damages import Damage
from tests.fuzz.samples import BY_NAME, CASE, SOLVER, WAVE, Sample
from tests.fuzz.tables import ANY

ENDING = ("--set", 'run.wall_time="0:00:02"', "--set", "run.check_interval_steps=1")
"""A case may well ask for a run of days; this one ends."""

ENDS = ("\n", "\n", "\r", "\r\n")
PROFILE = "radius_m,velocity\n0.0,1.0\n0.001,0.7\n0.002,0.2\n"
WORDS = (
    "case.toml",
    ".file",
    "cannot read",
    "wave.csv",
    "profile.csv",
    "openings",
    "override",
    "the case",
    "geometry",
    "lattice",
    "the",
)


def _profile_case(folder: Path) -> None:
    BY_NAME["case.toml"].write(folder)
    (folder / "profile.csv").write_text(PROFILE)
    measured = 'velocity_m_s = 0.02\nprofile = "measured"\nprofile_file = "profile.csv"'
    (folder / "case.toml").write_text(CASE.replace("velocity_m_s = 0.02", measured, 1))


PLACES = "id,x_m,y_m,z_m,vx_m_s,vy_m_s,vz_m_s,kind\n0,0.003,0.002,0.002,0,0,0,a\n1,0.004,0.002,0.002,0,0,0,b\n"
LINKS = "id_1,id_2,kind\n0,1,stiff\n"
ATOMS = "a title\n\n2 atoms\n1 bonds\n0 0.01 xlo xhi\n\nAtoms # mine, dear\n\n"
ATOMS += "1 1 1 0.003 0.002 0.002\n2 1 1 0.004 0.002 0.002\n\nBonds\n\n1 1 1 2\n"
FRAMES = "2\nProperties=species:S:1:pos:R:3:id:I:1 length_unit_m=1.0\nC 0.003 0.002 0.002 0\nC 0.004 0.002 0.002 1\n"
BEADS = """
[[particles]]
name = "b"
kind = "beads"
file = "{}"
mass_kg = 1e-9
friction_kg_s = 1e-9
bonds = {{stiffness_n_m = 1e-9, length_m = 1e-3}}
"""
FILES = {"places.csv": PLACES, "links.csv": LINKS, "atoms.data": ATOMS, "frames.xyz": FRAMES}


def _particle_case(folder: Path, name: str) -> None:
    BY_NAME["case.toml"].write(folder)
    for file, text in FILES.items():
        (folder / file).write_text(text)
    table = BEADS.format("places.csv" if name == "links.csv" else name)
    table += {"atoms.data": "length_unit_m = 1.0\n"}.get(name, 'bonds_file = "links.csv"\n')
    (folder / "case.toml").write_text(CASE + table)


CASE_FILE = Sample("case.toml", BY_NAME["case.toml"].write, program=SOLVER, also_names=WORDS)
SET_VALUE = Sample("--set", BY_NAME["case.toml"].write, target="case.toml", program=SOLVER, also_names=WORDS)
WAVEFORM = Sample("wave.csv", BY_NAME["case.toml"].write, target="case.toml", program=SOLVER, also_names=WORDS)
TABLES = {
    name: Sample(
        name, partial(_particle_case, name=name), target="case.toml", program=SOLVER, also_names=(*WORDS, "particles.b")
    )
    for name in FILES
}
MEASURED = Sample("profile.csv", _profile_case, target="case.toml", program=SOLVER, also_names=WORDS)


KEYS: dict[str, tuple[str, ...]] = {}
"""The keys that hold a value, by the dotted path of their table."""
for path, section in sections():
    own = (name for name, field in section.all_fields().items() if not any(tables(field.annotation)))
    KEYS[path] = tuple(dict.fromkeys((*KEYS.get(path, ()), *own)))
PATHS = tuple(f"{path}.{key}" if path else key for path, keys in KEYS.items() for key in keys)
LISTS = ("openings", "walls", "probes", "particles")
EXTRAS = (
    ("[[probes]]", 'name = "at"', "point_m = [0.004, 0.002, 0.002]"),
    ("[[probes]]", 'name = "along"', "line_m = [[0.001, 0.002, 0.002], [0.008, 0.002, 0.002]]", "n_points = 5"),
    ("[[probes]]", 'name = "across"', "plane_m = [0.004, 0, 0]", "normal = [1, 0, 0]", "radius_m = 0.01"),
    ("[[walls]]", 'name = "floor"', "box_m = [[0, 0, 0], [0.01, 0.005, 0.0001]]", "velocity_m_s = [0.01, 0, 0]"),
    ("[[walls]]", 'name = "disc"', "box_m = [[0, 0, 0], [0.01, 0.005, 0.0001]]", "rotation_rad_s = [0, 0, 0.1]"),
    ("[flow]", "acceleration_m_s2 = [0.1, 0, 0]", "waveform = {period_s = 0.1, sine = [0.5, 0.1]}"),
    (
        "[fluid.power_law]",
        "consistency_pa_sn = 0.05",
        "index = 0.7",
        "min_viscosity_m2_s = 1e-5",
        "max_viscosity_m2_s = 1e-4",
    ),
    ("[fluid.casson]", "yield_stress_pa = 0.01", "infinite_viscosity_m2_s = 1e-5", "max_viscosity_m2_s = 1e-4"),
    ("[[particles]]", 'name = "dye"', 'kind = "tracers"', "count = 20", "diffusivity_m2_s = 1e-9", "seed = 3"),
    ("[[particles]]", 'name = "ink"', 'kind = "tracers"', "count = 5", "box_m = [[0, 0, 0], [0.01, 0.005, 0.005]]"),
    (
        *("[[particles]]", 'name = "chain"', 'kind = "beads"', "chains = 1", "beads_per_chain = 4", "substeps = 1"),
        *("mass_kg = 1e-9", "friction_kg_s = 1e-9", "bonds = {stiffness_n_m = 1e-9, length_m = 1e-3}"),
    ),
    ("[[particles]]", 'name = "single"', 'kind = "beads"', "count = 4", "mass_kg = 1e-9", "radius_m = 1e-4"),
    ("[free_surface]", "liquid = [{box_m = [[0, 0, 0], [0.01, 0.003, 0.01]]}]", "surface_tension_n_m = 0.01"),
    ("[free_surface.bubbles]", "pressure_pa = 1e5", "spheres = [{centre_m = [0.004, 0.002, 0.002], radius_m = 1e-3}]"),
    ("[age]",),
    ("[[species]]", "name = 'drug'", "schmidt = 1.0", "rate = '-k * drug'", "rates = {k = 1.0}", "initial = 1.0"),
    ("[dissipation]",),
    (
        "[[porous_medium]]",
        "name = 'clot'",
        "permeability_m2 = 1e-9",
        "centre_m = [0.004, 0.002, 0.002]",
        "radius_m = 2e-3",
    ),
    ("[thermal]", "reference_k = 300.0", "prandtl = 7.0", "expansion_1_k = 1e-3"),
)
"""Sections that make other parts of the program read the case."""


def case_file(draw: random.Random) -> Damage:
    """A case file with one to three hostile values, or mangled."""
    if draw.random() < 0.2:
        return Damage(CASE_FILE, "mangled", partial(hostile.mangle, seed=draw.random()), ANY, ENDING)
    lines = CASE.splitlines()
    for extra in draw.sample(EXTRAS, draw.choice((0, 1, 1, 2))):
        lines += extra
    done = [_change_line(lines, draw) for _ in range(draw.choice((1, 1, 2, 3)))]
    text = "\n".join(lines) + "\n"
    return Damage(CASE_FILE, "; ".join(done), lambda path: path.write_text(text), ANY, ENDING)


def _change_line(lines: list[str], draw: random.Random) -> str:
    """Change one line of a case in place, or add one; what was done, as text."""
    kind = draw.randrange(6)
    entries = [k for k, line in enumerate(lines) if "=" in line]
    if kind == 0:
        k = draw.randrange(len(lines))
        return f"{lines.pop(k)!r} dropped"
    if kind < 3:
        k = draw.choice(entries)
        lines[k] = f"{lines[k].partition('=')[0]}= {hostile.value(draw)}"
        return lines[k][:60]
    path = draw.choice(tuple(KEYS))
    if kind == 5:
        return _multiply(lines, path, draw)
    new = f"{draw.choice(KEYS[path])} = {hostile.value(draw)}" if KEYS[path] else "a = 1"
    header = f"[[{path}]]" if path in LISTS else f"[{path}]"
    if header in lines:
        lines.insert(lines.index(header) + 1, new)
    else:
        lines += [header, new] if path else []
        lines[:0] = [] if path else [new]
    return f"{path}: {new[:60]}"


def _multiply(lines: list[str], path: str, draw: random.Random) -> str:
    """Add a list of tables or numbers with very many entries; what was done, as text."""
    count = draw.choice((900, 1100, 20_000, 100_000))
    if draw.random() < 0.5 or not KEYS[path]:
        lines += [f"[[{path or 'openings'}]]"] * min(count, 20_000)
        return f"{count} tables [[{path}]]"
    key = draw.choice(KEYS[path])
    entry = draw.choice(("1", "0.5", "[0, 0, 0]", '"a"', "{a = 1}", "[[0, 0, 0], [1, 1, 1]]"))
    lines += [f"[{path}]"] if path and f"[{path}]" not in lines else []
    lines.insert(lines.index(f"[{path}]") + 1 if path else 0, f"{key} = [{', '.join([entry] * count)}]")
    return f"{path}.{key} of {count} entries"


def set_value(draw: random.Random) -> Damage:
    """A value of ``--set`` under a key of the case, under none, or no value at all."""
    key = draw.choice(PATHS)
    if draw.random() < 0.4:
        key = key.replace("openings.", "openings.inlet.")
    text = draw.choice(
        (
            f"{key}={hostile.value(draw)}",
            f"{key}={hostile.value(draw)}",
            f"{key}={hostile.value(draw)}",
            f"{key}=",
            key,
            f"{hostile.value(draw)}=1",
            ".".join(["a"] * draw.choice((2, 40, 5000))) + "=1",
            f"{key}={'[' * draw.choice((3, 100, 20000))}",
            f"{key}.{draw.choice(PATHS)}={hostile.number(draw)}",
        )
    )
    text = text.replace("\0", "")
    return Damage(SET_VALUE, f"--set {text[:60]}", lambda path: None, ANY, ("--set", text, *ENDING))


def table(draw: random.Random) -> Damage:
    """A table of a waveform, of a measured profile, of particles or of bonds with hostile words, in another dialect, or
    mangled."""
    own = [(sample, FILES[name]) for name, sample in TABLES.items()]
    sample, text = draw.choice(((WAVEFORM, WAVE), (MEASURED, PROFILE), *own))
    if draw.random() < 0.4:
        return Damage(sample, "mangled", partial(hostile.mangle, seed=draw.random()), ANY, ENDING)
    gap = "," if sample.name.endswith(".csv") else " "
    rows = [line.split(gap) for line in text.splitlines()]
    for _ in range(draw.choice((1, 1, 2, 5))):
        row = draw.choice(rows)
        row[draw.randrange(len(row))] = draw.choice(
            (hostile.number(draw), draw.choice(hostile.NUMBERS), "", "²", "one")
        )
    rows *= draw.choice((1, 1, 1, 1, 2, 3000))
    if draw.random() < 0.3:
        scale = 10.0 ** draw.randrange(-320, 300, 7)
        rows = [rows[0], *([f"{k * scale}", f"{1 + k % 2}"] for k in range(draw.choice((1, 4, 5, 100))))]
    content = draw.choice(ENDS).join(map(draw.choice((gap, gap, gap, ";", "\t")).join, rows))
    content = draw.choice(("", "", "", "\ufeff", '"')) + content
    return Damage(sample, f"rows {content[:60]!r}", lambda path: path.write_text(content, newline=""), ANY, ENDING)
