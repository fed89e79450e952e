"""Everything public says what it is."""

import ast
import re

from tests.structure.source import ROOT, Definition, definitions, modules, report


def is_public(item: Definition) -> bool:
    """Whether others can see a definition: in no function, and no part of its name starts with an underscore."""
    return not item.is_inner and not any(name.startswith("_") for name in item.name.split("."))


def test_every_module_has_a_docstring():
    offenders = [module.place for module in modules() if not ast.get_docstring(module.tree)]
    assert not offenders, report(offenders)


def test_every_public_class_and_function_has_a_docstring():
    offenders = [item.place for item in definitions() if is_public(item) and not ast.get_docstring(item.node)]
    assert not offenders, report(offenders)


def test_every_folder_says_what_its_files_hold():
    offenders = []
    for folder in [module for module in modules() if module.path.name == "__init__.py" and module.name != "muphy_lb"]:
        text = ast.get_docstring(folder.tree) or ""
        files = {path.stem for path in folder.path.parent.glob("*.py")} - {"__init__", "__main__"}
        offenders += [f"{folder.place}: {file}" for file in files if not re.search(rf"``{file}\b", text)]
    assert not offenders, report(offenders)


def test_every_folder_is_a_package():
    """A folder without ``__init__.py`` would be missing in a wheel."""
    folders = {module.path.parent for module in modules()}
    assert not [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").exists()]


def test_the_subjects_of_docstrings_are_nouns():
    """A clause as subject ("What a rank sends ...") must be decoded; a noun of the field says it at once."""
    clauses = r"(What(ever)?|Who(ever|se)?|Nobody|That of|Those (of|that|who)|One of)\b"
    begins = re.compile(rf"(^|(?<=\n\n)|(?<=[.:] )){clauses}|^(That|Those)\b")
    texts = [(each.place, each.tree) for each in modules()] + [(each.place, each.node) for each in definitions()]
    lines = re.compile(r"(?<!\n)\n(?!\n) *")  # of one paragraph
    offenders = [place for place, node in texts if begins.search(lines.sub(" ", ast.get_docstring(node) or ""))]
    assert not offenders, report(offenders)


def test_references_lead_somewhere():
    """A name in ``:class:`` and the like is that of a module, or a word of the module that it names."""
    found = {module.name: module for module in modules()}
    offenders = []
    for module in modules():
        for name in re.findall(
            r":(?:mod|class|func|meth|data|attr):`(?:[^`<]*<)?~?(muphy_lb[\w.]*)", module.path.read_text()
        ):
            above = next((there for there in _above(name) if there in found), "muphy_lb")
            rest = name.removeprefix(above).strip(".").split(".")
            if not all(re.search(rf"\b{word}\b", found[above].path.read_text()) for word in rest):
                offenders.append(f"{module.place}: {name}")
    assert not offenders, report(offenders)


def _above(name: str) -> list[str]:
    """A dotted name and all packages around it, innermost first."""
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
