"""The keys of a study: parameters with their distributions, how they are sampled, and which answers are wanted."""

from collections.abc import Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, ValidationError

from muphy_lb.apps.study.blocks import with_blocks
from muphy_lb.apps.study.control_variate import FEWEST
from muphy_lb.base.errors import InputError
from muphy_lb.base.key_units import is_number, unit_of
from muphy_lb.case.case import Case, as_case, case_from_dict, problems_of, told_problems
from muphy_lb.case.section import (
    AtLeastOne,
    AtLeastZero,
    Name,
    Positive,
    Section,
    exactly_one,
    given_tables,
    given_values,
    names_given_twice,
)
from muphy_lb.case.toml import read_toml
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.quantities import difference_in_si, in_si, is_quantity

DISTRIBUTIONS = ("uniform", "normal", "lognormal", "values", "measured", "blocks")
MESHING = ("geometry.", "lattice.name", "compute.precision", "compute.streaming")
PLACING = ("centre_m", "normal", "radius_m", "box_m")  # keys that change the nodes of a flow, or what is stored of them
SAMPLED = ("latin-hypercube", "sobol", "random")  # samplers of a number of points, which the others have by themselves
CROP = "geometry.options.crop"
GRID = "grid"  # column of the factors of voxels along an edge
N_GRIDS, LEAST_RATIO, MOST_FACTOR = 3, 1.1, 16.0

Numbers = Annotated[tuple[float, ...], Field(strict=False)]
Texts = Annotated[
    tuple[str, ...], Field(strict=False), BeforeValidator(lambda given: [given] if isinstance(given, str) else given)
]


class ParameterSection(Section):
    """An uncertain value: a key of the case and its distribution."""

    name: Name
    """letters, digits, _ and -, a letter first; the name in every table"""
    key: Texts
    """dotted key of the case, as in fluid.kinematic_viscosity_m2_s, or a list of keys that get the same value"""
    uniform: Numbers | None = None
    """lowest and highest value, all between them equally likely"""
    normal: Numbers | None = None
    """mean and standard deviation of a normal distribution"""
    lognormal: Numbers | None = None
    """mean and standard deviation of the values, not of their logarithm, of a lognormal distribution"""
    values: Annotated[tuple[Any, ...], Field(strict=False)] | None = None
    """list of equally likely values: numbers, texts such as names of files, or lists"""
    measured: str | None = None
    """CSV file with a heading, which may name their unit, and measured values, of which the distribution is that of
    the sample"""
    column: str | None = None
    """heading of the column of the CSV file; without it the name of the parameter"""
    blocks: Annotated[tuple[AtLeastOne, ...], Field(strict=False)] | None = None
    """numbers of equal blocks, side by side along each axis, into which the image is cropped: with [1, 2, 3] the whole
    image, its 8 and its 27 blocks; for the key geometry.options.crop"""
    within: Numbers | None = None
    """lowest and highest value at which a normal or lognormal distribution is cut off"""
    relative: bool = False
    """whether the values are factors of the value of the case"""

    @classmethod
    def rules(cls, given):
        """Check that one distribution is given and its numbers are consistent."""
        yield from exactly_one(given, *DISTRIBUTIONS)
        for name in ("uniform", "normal", "lognormal", "within"):
            yield from _pair_problems(name, given.get(name))
        if "within" in given and not given.keys() & {"normal", "lognormal"}:
            yield "has within, which cuts off normal and lognormal alone; leave it out"
        if "column" in given and "measured" not in given:
            yield "has column, which only measured reads"
        if "blocks" in given and _listed(given.get("key")) != [CROP]:
            yield f"has blocks, which are values of {CROP} alone; give key = {CROP!r}"
        if "blocks" in given and not given["blocks"]:
            yield "has an empty list of blocks; give their numbers along each axis, such as [1, 2, 3]"
        if not given.get("values", (0,)):
            yield "has an empty list of values; give one value or more"


def _pair_problems(name: str, pair):
    """Problems of the two numbers of a distribution."""
    if pair is None:
        return
    if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(map(is_number, pair)):
        words = "mean and standard deviation" if "normal" in name else "the lowest and the highest value"
        yield f"has {name} = {shown(pair)}; give two numbers, {words}"
    elif "normal" in name and pair[1] <= 0.0:
        yield f"has {name} = {shown(pair)} with a standard deviation of {pair[1]:g}; it must be above 0"
    elif name == "lognormal" and pair[0] <= 0.0:
        yield f"has lognormal = {shown(pair)} with a mean of {pair[0]:g}; it must be above 0"
    elif "normal" not in name and pair[0] >= pair[1]:
        yield f"has {name} = {shown(pair)}, whose lowest value is not below the highest; exchange them"


class CorrelationSection(Section):
    """A correlation of two parameters."""

    between: Texts
    """names of the two parameters"""
    coefficient: Annotated[float, Field(gt=-1.0, lt=1.0)]
    """correlation of their normal scores (Gaussian copula), between -1 and 1"""

    @classmethod
    def rules(cls, given):
        """Check that the two parameters differ."""
        between = given.get("between", ())
        if isinstance(between, str) or len(between) != 2 or between[0] == between[1]:
            yield f"has between = {shown(between)}; give the names of two parameters"


class StudySection(Section):
    """A study of a case: which values are uncertain, how members are chosen, and which answers are wanted."""

    parameters: Annotated[tuple[ParameterSection, ...], Field(strict=False)]
    """the uncertain values"""
    correlations: Annotated[tuple[CorrelationSection, ...], Field(strict=False)] = ()
    """correlations between the parameters"""
    sampler: Literal["latin-hypercube", "sobol", "random", "factorial", "list"] = "latin-hypercube"
    """latin-hypercube; sobol: the pairs of points of Saltelli, for sensitivity indices; random: independent points;
    factorial: all combinations; list: the first values of all parameters, the second ones, and so on"""
    samples: AtLeastOne | None = None
    """points of latin-hypercube and random; base points of sobol, a power of 2: of these each is run as often as there
    are parameters, and twice more"""
    levels: Annotated[int, Field(ge=2, le=100)] = 3
    """factorial: number of values taken from a distribution that is not a list"""
    seed: AtLeastZero = 0
    """of random numbers; with the same one the members are the same"""
    grids: Annotated[tuple[Positive, ...], Field(strict=False)] = ()
    """three ascending numbers of voxels along an edge over that of the case, 1 among them, such as [0.5, 0.7, 1] or
    [1, 1.5, 2]: the middle of all distributions is run on these grids, to estimate the error of the grid in the
    answers"""
    coarse: Annotated[Positive, Field(lt=1.0)] | None = None
    """voxels along an edge over that of the case, such as 0.5: all points of the sampler random are run on this grid,
    too, and with coarse_samples the mean is corrected by them (control variates)"""
    coarse_samples: Annotated[int, Field(ge=2)] | None = None
    """further points that are run on the coarse grid alone"""
    answers: Texts = ()
    """dotted names of answers as in summary.json, such as openings.outlet.flow_rate_m3_s; * stands for any letters.
    Without it all numbers that differ between members"""
    pack: Annotated[int, Field(ge=0, le=112)] = 0
    """largest number of members that one launch advances together, side by side, if they have the same time step, fluid
    and run; 0 for one after another. Steady flows are then judged by the flow rates, and before
    networks the pressures, of openings alone"""
    start: str | None = None
    """folder of a run or of Simulation.save whose flow all members continue from; they have its nodes and time step"""
    keep_files: bool = False
    """whether members write pictures, reports and files for ParaView as well"""

    @classmethod
    def rules(cls, given):
        """Names are those of parameters; a number of samples where the sampler takes one."""
        parameters = given_tables(given.get("parameters"))
        if given.get("parameters") in ([], ()):
            yield "has an empty list of parameters; give [[study.parameters]]"
        for name in names_given_twice(given.get("parameters")):
            yield f"has several parameters named {name!r}; give each its own name"
        keys = [key for each in parameters for key in _listed(each.get("key"))]
        for one, other in combinations(keys, 2):
            if one == other or other.startswith(f"{one}.") or one.startswith(f"{other}."):
                yield f"has two parameters that set {max(one, other, key=len)}; leave one of them out"
        sampler = given.get("sampler", cls.model_fields["sampler"].default)
        samples = given.get("samples")
        if sampler in SAMPLED and samples is None:
            yield f"has the sampler {sampler} but no samples; give their number, such as 64"
        if sampler in ("factorial", "list") and samples is not None:
            yield f"has samples = {samples}, but the sampler {sampler} has its own number; leave it out"
        if sampler == "sobol" and isinstance(samples, int) and (samples < 2 or samples & (samples - 1)):
            power = 2 ** max(1, samples.bit_length())
            yield f"has samples = {samples}; the sampler sobol needs a power of 2, such as {power}"
        yield from _grid_problems(given, sampler)
        yield from _start_problems(given, keys)
        yield from _correlation_problems(parameters, given_tables(given.get("correlations")), sampler)


def _grid_problems(given, sampler: str):
    """Problems of the key ``grids``."""
    grids, asked = given.get("grids", ()), [key for key in ("grids", "coarse") if given.get(key)]
    if isinstance(grids, list | tuple) and grids and all(map(is_number, grids)):
        apart = all(low > 0.0 and high / low >= LEAST_RATIO for low, high in pairwise(grids))
        if len(grids) != N_GRIDS or 1.0 not in grids or not apart or grids[-1] > MOST_FACTOR:
            yield (
                f"has grids = {shown(list(grids))}; give {N_GRIDS} ascending factors up to {MOST_FACTOR:g}, each"
                f" {LEAST_RATIO} times the one before or more, and 1 among them, such as [1, 1.5, 2] or [0.5, 0.7, 1]"
            )
    if ("coarse" in given) != ("coarse_samples" in given):
        there = "coarse" if "coarse" in given else "coarse_samples"
        yield f"has {there} alone; give coarse and coarse_samples together, such as 0.5 and ten times the samples"
    samples = given.get("samples")
    if "coarse" in given and isinstance(samples, int) and samples < FEWEST:
        yield f"has coarse and samples = {samples}; control variates need {FEWEST} samples or more"
    if "coarse" in given and sampler != "random":
        yield (
            f"has coarse and the sampler {sampler}, whose points depend on each other, so that no error of the mean"
            " follows; take random, or leave coarse out"
        )
    if given.get("start") is not None and asked:
        yield f"has start, a flow on its own nodes, and {asked[0]}; leave one of them out"
    for each in given_tables(given.get("parameters")):
        if each.get("name") == GRID and asked:
            yield f"has {asked[0]} and a parameter named {GRID!r}, the name of their column; choose another name"


def _start_problems(given, keys):
    """Problems of a start from the flow of another run, to whose nodes a state belongs."""
    if given.get("start") is None:
        return
    for key in keys:
        if str(key).startswith(MESHING) or str(key).rpartition(".")[2] in PLACING:
            yield f"has start, a flow on its own nodes, and a parameter that changes them, {key}; leave one of them out"
    if given.get("pack"):
        yield "has start and pack; members that continue from a given flow run one after another: leave one of them out"


def _listed(keys) -> list:
    return [keys] if isinstance(keys, str) else list(keys or ())


def _correlation_problems(parameters, correlations, sampler: str):
    names = {each.get("name") for each in parameters}
    for each in correlations:
        for name in _listed(each.get("between")):
            if name not in names:
                yield f"has a correlation with {name!r}, not a parameter; there are: {', '.join(map(str, names))}"
    if correlations and sampler not in SAMPLED:
        yield f"has correlations, which the sampler {sampler} does not read; take latin-hypercube or sobol"
    pairs = [tuple(sorted(_listed(each.get("between")))) for each in correlations]
    for pair in {pair for pair in pairs if pairs.count(pair) > 1}:
        yield f"has several correlations between {' and '.join(pair)}; give one"


class Asked(NamedTuple):
    """A study that has been read and checked."""

    section: StudySection  #: its keys
    case: Case | None  #: the case that the members change; None where a function of Python answers
    folder: Path  #: the folder that names of files are relative to
    title: str  #: for people


def read_study(given, overrides=(), needs_case: bool = True) -> Asked:
    """A study from a file or its tables: a case with a table ``study``, or that table beside ``case``, the path of the
    case or its tables.

    Args:
        given: path or tables.
        overrides: changes of keys of the case, as of :func:`muphy_lb.case.case.load_case`.
        needs_case: whether a case must be there.

    Raises InputError: it is no study, or the case is not valid; the message lists all problems of either.
    """
    if isinstance(given, Mapping):
        table, folder, source = dict(given), Path(), "the study"
    else:
        table, folder, source = read_toml(given), Path(given).parent, f"study {given}"
    if "study" not in table:
        raise InputError(f"{source} has no table [study]; give one with [[study.parameters]], or muphy-lb run the case")
    section, title = _section(table.pop("study"), source), table.get("title")
    if not needs_case:
        return Asked(section, None, folder, str(title or "Study"))
    case = _case(table, folder, source, overrides)
    parameters = [each if each.blocks is None else with_blocks(each, case) for each in section.parameters]
    section = section.model_copy(update={"parameters": tuple(parameters)})
    return Asked(section, case, folder, str(title or case.title or "Study"))


def _case(table: dict, folder: Path, source: str, overrides) -> Case:
    if "case" not in table:
        return as_case(case_from_dict(table, folder), overrides)
    named = table.pop("case")
    table.pop("title", None)
    if table:
        raise InputError(f"{source} names a case and has {', '.join(table)} beside it; leave these to the case")
    return as_case(folder / named if isinstance(named, str) else named, overrides)


def _section(table, source: str) -> StudySection:
    if not isinstance(table, Mapping):
        raise InputError(f"{source}: study is {shown(table)}; it must be a table")
    if isinstance(table.get("parameters"), list | tuple):
        table = {**table, "parameters": [_in_si(each) for each in table["parameters"]]}
    try:
        return StudySection.model_validate(table)
    except ValidationError as error:
        raise InputError(told_problems(source, problems_of(error, {"study": table}, "study"))) from error


def _in_si(parameter):
    """A parameter whose numbers with a unit are in SI, which the last word of its key names."""
    given = given_values(parameter)
    keys = _listed(given.get("key"))
    unit = unit_of(str(keys[0]).rpartition(".")[2], {}) if keys else None
    if unit is None or given.get("relative"):
        return parameter

    def number(value, is_difference: bool):
        if not isinstance(value, str) or not is_quantity(value):
            return value
        return difference_in_si(value, unit) if is_difference else in_si(value, unit)

    try:
        return {
            name: [number(entry, "normal" in name and k == 1) for k, entry in enumerate(value)]
            if name != "key" and isinstance(value, list | tuple)
            else value
            for name, value in parameter.items()
        }
    except ValueError as error:
        raise InputError(f"study.parameters.{given.get('name')}: a value {error}") from error
