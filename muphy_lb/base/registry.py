"""The table of physics packages, and the functions by which the rest of the program uses them without naming one.

A physics package is a folder below ``muphy_lb/physics/``. The program finds its parts by their names:

``section.py``
    What the case file needs; of ``case`` it imports ``section``, ``choice``, ``usual`` and ``waveform``
    alone, which know no physics:
    ``SECTION``, the class of its table ``[NAME]`` of the case file, whose docstring becomes the key's text;
    ``SECTIONS``, if it has a list of tables ``[[NAME]]`` instead, the type of an entry; each has a ``name`` of its own;
    ``FluidKeys``, ``WallKeys``, ``OpeningKeys`` and ``InitialKeys``, sections with keys that join [fluid], [[walls]],
    [[openings]] and [initial];
    ``OUTPUT_FIELDS``, names of its fields in the field files;
    ``MONITORED``, what ``run.steady_watch`` may name, each with what the geometry must have for it;
    ``SHAPES``, further names of shapes of ``muphy_lb.geometry``; ``FILES``, patterns of the files that its runs write;
    ``USUAL``, when values of its keys, or of others that it reads, are unusual (:mod:`muphy_lb.case.usual`);
    ``PAPERS``, names of benchmarks; ``rules(given)``, what is wrong between the sections of a case;
    ``solid_walls(case)``, walls whose voxels are nodes of it, each with the key that asks for that, and
    ``SOLID_KEYS``, the keys that a wall ``{name}`` then needs;
    ``fluid_labels(case)``, values of the image whose voxels are fluid, too, and a labelled region of it, by name;
    ``moving_solid(case)``, a solid that loses or gains volume by the fluxes through its surface
    (:class:`muphy_lb.geometry.solid_place.MovedBy`).
``package.py``
    ``PHYSICS``, its :class:`muphy_lb.physics.package.Physics`; imported only when a case has its section.

Beside the solver lie ``validation/NAME/table.py``, with ``CASES`` and ``SHARED`` of its validation
(``muphy_lb.validation.cases``) and ``BUDGETS``, flows whose balance is watched (``muphy_lb.validation.flow.balance``),
if there are any, and ``bench/NAME/table.py``, with ``PAPERS``, its benchmarks (``muphy_lb.bench.command``).

A package leaves the parts that it lacks out of ``section.py``. To take a physics out of the program, remove its row
here and its folders.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations
from types import ModuleType
from typing import Any

from muphy_lb.base.errors import InputError

PHYSICS = (
    "thermal",
    "fluctuating",
    "particles",
    "free_surface",
    "two_fluid",
    "age",
    "species",
    "dispersion",
    "dissipation",
    "porous_medium",
    "dissolution",
)


@cache
def sections() -> dict[str, ModuleType]:
    """The module ``section`` of every package, by the package's name."""
    return {name: import_module(f"muphy_lb.physics.{name}.section") for name in PHYSICS}


def package(name: str) -> type:
    """The class of a physics, a subclass of :class:`muphy_lb.physics.package.Physics`."""
    return import_module(f"muphy_lb.physics.{name}.package").PHYSICS


def packages(case) -> tuple[Any, ...]:
    """The classes of the physics whose section a case has (:class:`muphy_lb.case.case.Case`). Raises InputError: two of
    them cannot be computed together."""
    found: tuple[Any, ...] = tuple(package(name) for name in PHYSICS if getattr(case, name))
    for first, second in combinations(found, 2):
        if second.name in first.excludes or first.name in second.excludes:
            raise InputError(
                f"the case has [{first.name}] and [{second.name}], which cannot be computed together; keep one of them"
            )
    return found


def tables(package: str) -> tuple[ModuleType, ...]:
    """The modules ``table`` in the folders of a package that are named after a physics."""
    names = [f"{package}.{name}" for name in PHYSICS]
    return tuple(import_module(f"{name}.table") for name in names if find_spec(name) is not None)


def offered(attribute: str) -> tuple:
    """All entries of an attribute of the modules ``section``: names, patterns or classes."""
    return tuple(entry for module in sections().values() for entry in getattr(module, attribute, ()))


def key_classes(attribute: str) -> tuple[type, ...]:
    """The classes that add keys to sections of the case file: ``"FluidKeys"``, ``"WallKeys"``, ``"OpeningKeys"`` or
    ``"InitialKeys"``."""
    return tuple(getattr(module, attribute) for module in sections().values() if hasattr(module, attribute))


def shape_named(name: str) -> str:
    """The name in ``muphy_lb.geometry`` of a shape of the case file."""
    known = {other: own for module in sections().values() for other, own in getattr(module, "SHAPES", {}).items()}
    return known.get(name, name)


def fluid_labels(case) -> dict[str, int]:
    """Values of the image whose voxels are fluid, whatever the geometry says, by the name of their region."""
    return {
        name: value
        for module in sections().values()
        if hasattr(module, "fluid_labels")
        for name, value in module.fluid_labels(case).items()
    }


def moving_solid(case) -> Any:
    """The solid of a case that loses or gains volume (:class:`muphy_lb.geometry.solid_place.MovedBy`); None without
    one."""
    modules = (module for module in sections().values() if hasattr(module, "moving_solid"))
    return next(filter(None, (module.moving_solid(case) for module in modules)), None)


def solid_walls(case) -> dict[str, str]:
    """Labelled walls whose voxels are nodes, by name, each with the key of the case that asks for it."""
    return {
        name: key
        for module in sections().values()
        if hasattr(module, "solid_walls")
        for name, key in module.solid_walls(case).items()
    }
