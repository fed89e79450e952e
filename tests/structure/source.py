"""The source of all packages, parsed once: what the structure tests look at."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Where each package lies in the repository. Below muphy_lb/ all but the last are links to these folders.
FOLDERS = {
    "muphy_lb.geometry": "geometry",
    "muphy_lb.partition": "partition",
    "muphy_lb.bench": "bench",
    "muphy_lb.validation": "validation",
    "muphy_lb": "muphy_lb",
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)


@dataclass(frozen=True)
class Module:
    """One source file: its path, its dotted name (of the package for ``__init__.py``) and its syntax tree."""

    path: Path
    name: str
    tree: ast.Module

    @property
    def place(self) -> str:
        """Path below the repository root, for messages."""
        return self.path.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Definition:
    """A function or class: its module, its dotted name there, its syntax node, and whether a function encloses it."""

    module: Module
    name: str
    node: ast.AST
    is_inner: bool = False

    @property
    def place(self) -> str:
        """``path:line name``, for messages."""
        return f"{self.module.place}:{self.node.lineno} {self.name}"


@cache
def modules() -> tuple[Module, ...]:
    """Every module of all packages."""
    return tuple(
        read(path, package)
        for package, folder in FOLDERS.items()
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not any(parent.is_symlink() for parent in path.parents)
    )


def read(path: Path, package: str) -> Module:
    """Parse one file of a package."""
    parts = (package, *path.relative_to(ROOT / FOLDERS[package]).with_suffix("").parts)
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(path, name, ast.parse(path.read_text(), str(path)))


@cache
def definitions() -> tuple[Definition, ...]:
    """Every class and function of all packages, nested ones too."""
    return tuple(item for module in modules() for item in _below(module, module.tree, "", False))


def _below(module, parent, prefix, is_inner) -> Iterator[Definition]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, DEFINITIONS):
            yield Definition(module, prefix + node.name, node, is_inner)
            yield from _below(module, node, f"{prefix}{node.name}.", is_inner or isinstance(node, FUNCTIONS))
        else:
            yield from _below(module, node, prefix, is_inner)


def functions() -> list[Definition]:
    """Every function of all packages."""
    return [item for item in definitions() if isinstance(item.node, FUNCTIONS)]


@cache
def imported(module: Module) -> frozenset[str]:
    """Dotted names that a module imports anywhere in it: ``from a import b`` counts as ``a.b``."""
    package = module.name.split(".") if module.path.name == "__init__.py" else module.name.split(".")[:-1]
    names = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return frozenset(names)


def lies_in(name: str, package: str) -> bool:
    """Whether a dotted name is ``package`` or below it."""
    return name == package or name.startswith(package + ".")


def report(offenders) -> str:
    """Offenders one a line, for an assertion message."""
    return "\n" + "\n".join(sorted(offenders))
