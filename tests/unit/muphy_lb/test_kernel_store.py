"""Kernels are kept on disk by what they compute, and what is wrong with a file only costs a compilation."""

import os
import pickle
import subprocess
import sys
from collections import namedtuple
from contextlib import suppress
from importlib import import_module
from types import FunctionType

import numpy as np
import pytest
from numba import config, njit, prange, typeof
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import NullCache
from numba.core.extending import _Intrinsic
from numba.extending import intrinsic

from muphy_lb.backends.cpu import rows
from muphy_lb.base.errors import OutputError
from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.base.kept import cpu_store as kernel_store
from muphy_lb.base.kept import functions as kept
from muphy_lb.base.kept import known
from muphy_lb.base.kept import store as kept_files
from muphy_lb.base.kept.code_digest import NoDigestError, digest
from muphy_lb.lattice import D2Q9
from tests.laws.test_free_surface import splash
from tests.laws.test_in_place import run_of
from tests.structure.source import modules

SIGNATURE = (typeof(np.ones(8)),)
NOBODY = 65534
FACTOR = 3.0
ONES = np.ones(8)


def scaled(factor, jit=njit):
    """Node function that multiplies by a constant of its closure."""
    return jit(lambda x: factor * x)


def summing(node, jit):
    """Kernel with an injected node function."""

    @jit
    def kernel(values):
        total = 0.0
        for i in range(values.size):
            total += FACTOR * node(values[i])
        return total

    return kernel


def plus_one(x):
    """A node function without a closure."""
    return x + 1.0


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The folder of kernels."""
    monkeypatch.setattr(kernel_store, "folder", lambda: tmp_path / "kernels" / "version")
    monkeypatch.setattr(kept_files, "FOREIGN", set())
    return tmp_path / "kernels" / "version"


def fresh(factor=2.0):
    """A kernel as a new process would make it."""
    return summing(scaled(factor), kernel_store.stored(njit))


def is_loaded(kernel) -> bool:
    """Whether a kernel gives its sum without being compiled."""
    compiled = []
    compile_ = kernel._compiler.compile
    kernel._compiler.compile = lambda *arguments: compiled.append(1) or compile_(*arguments)
    assert kernel(ONES) == pytest.approx(48.0)
    return not compiled


def test_the_digest_is_that_of_what_is_computed():
    assert digest(fresh()) == digest(fresh()) != digest(fresh(2.5))
    assert digest(fresh()) != digest(summing(njit(plus_one), njit))
    assert digest(scaled(2)) != digest(scaled(2.0)) != digest(scaled(np.float32(2.0)))
    assert digest(scaled(2.0)) != digest(scaled(2.0, njit(error_model="numpy")))


def test_a_changed_global_changes_the_digest(monkeypatch):
    before = digest(fresh())
    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    assert digest(fresh()) != before


def test_an_attribute_with_the_name_of_a_global_is_another_thing(monkeypatch):
    function = scaled(2.0, lambda f: lambda pair: pair.FACTOR)
    before = digest(function)
    monkeypatch.setitem(globals(), "FACTOR", object())
    assert digest(function) == before


def test_what_is_no_data_has_no_digest_and_is_not_kept(store):
    with pytest.raises(NoDigestError, match="object"):
        digest(scaled(object()))
    unknown = kernel_store.stored(njit)(lambda values: values.sum() if isinstance(values, Unknown) else values[0])
    with pytest.raises(NoDigestError, match="Unknown"):
        digest(unknown)


def test_a_kernel_that_is_given_a_function_is_not_kept(store):
    """The type of a function tells its address, where another one may lie in the next process."""
    kernel = kernel_store.stored(njit)(lambda function, x: function(x))
    assert kernel(njit(plus_one), 1.0) == 2.0
    assert not store.exists()


def emit(builder, name, value):
    """What the intrinsic below leaves to another function."""
    return getattr(builder, name)(value, value)


def combined_by(name, prefer_literal=False):
    """An intrinsic that combines a number with itself."""

    @intrinsic(prefer_literal=prefer_literal)
    def combined(typingctx, x):
        return x(x), lambda context, builder, signature, arguments: emit(builder, name, *arguments)

    return combined


def test_what_an_intrinsic_generates_counts(monkeypatch):
    before = digest(summing(combined_by("fadd"), njit))
    assert digest(summing(combined_by("fadd"), njit)) == before != digest(summing(combined_by("fmul"), njit))
    assert digest(summing(combined_by("fadd", prefer_literal=True), njit)) != before
    monkeypatch.setitem(globals(), "emit", lambda builder, name, value: value)
    assert digest(summing(combined_by("fadd"), njit)) != before


def test_every_intrinsic_of_the_package_has_a_digest_of_its_own():
    intrinsics = [value for value in vars(rows).values() if isinstance(value, _Intrinsic)]
    assert len({digest(each) for each in intrinsics}) == len(intrinsics) > 3


def test_a_named_tuple_is_what_its_fields_are():
    some, same, others, with_default = (
        namedtuple("Some", names, defaults=values)
        for names, values in (("x y", ()), ("x y", ()), ("y x", ()), ("x y", (2.0,)))
    )
    assert digest(scaled(some)) == digest(scaled(same)) != digest(scaled(others))
    assert digest(scaled(some)) != digest(scaled(with_default))


def test_the_names_of_fields_of_arguments_count(store):
    """The name of their type does not tell them."""
    for names, expected in (("x y", 1.0), ("y x", 2.0)):
        kernel = kernel_store.stored(njit)(lambda pair: pair.x)
        assert kernel(namedtuple("Pair", names)(1.0, 2.0)) == expected
    assert len(list(store.iterdir())) == 2


RUNS = {
    "openings": lambda: run_of(D2Q9, "openings", "pull", "cpu"),
    "walls that move": lambda: run_of(D2Q9, "bouzidi", "pull", "cpu"),
    "in place": lambda: run_of(D2Q9, "slip", "aa", "cpu"),
    "a free surface": lambda: splash(D2Q9, backend="cpu").ranks,
}


@pytest.mark.parametrize("name", RUNS)
def test_every_kernel_of_a_run_is_kept(name, caplog):
    caplog.set_level("DEBUG", logger=kept_files.__name__)
    RUNS[name]().step(1)
    assert "not kept" not in caplog.text


def test_a_class_or_module_of_the_package_has_no_digest():
    """What is in it may change while its name stays."""
    for part in (OutputError, kernel_store):
        with pytest.raises(NoDigestError, match="muphy_lb"):
            digest(scaled(part))


def test_handlers_of_exceptions_and_names_of_fields_count():
    def caught(x):
        try:
            return plus_one(x)
        except Exception:
            return 0.0

    code = caught.__code__
    other = FunctionType(code.replace(co_exceptiontable=b""), globals())
    assert digest(caught) != digest(other)
    first, second = (namedtuple("Pair", names)(1.0, 2.0) for names in ("x y", "y x"))
    assert digest(scaled(first)) != digest(scaled(second))
    assert digest(scaled(np.float32(2.0))) != digest(scaled(np.array(2.0, dtype=np.float32)))


class Unknown:
    """A class outside the package, whose text no digest covers."""


def test_a_kernel_that_was_kept_is_loaded(store):
    assert not is_loaded(fresh())
    assert is_loaded(fresh())
    assert not is_loaded(summing(scaled(2), kernel_store.stored(njit)))


def test_a_parallel_kernel_that_was_kept_is_loaded(store):
    def kernel(values):
        total = 0.0
        for i in prange(values.size):
            total += 6.0 * values[i]
        return total

    make = kernel_store.stored(njit(parallel=True))
    assert not is_loaded(make(kernel)) and is_loaded(make(kernel))


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_a_damaged_file_is_replaced(store, damage):
    fresh()(ONES)
    (path,) = store.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + b"\0" + whole[-8:] if damage is None else damage)
    assert not is_loaded(fresh()) and is_loaded(fresh())


class Attack:
    """What another user may write as a kernel: it runs when it is read."""

    def __init__(self, trace):
        self.trace = str(trace)

    def __reduce__(self):
        return os.mkdir, (self.trace,)


def given_away(path):
    """Let a path belong to another user, where this one may do so."""
    if os.getuid():
        pytest.skip("only root gives files away")
    os.chown(path, NOBODY, NOBODY)


def moved_behind_a_link(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


WAYS_IN = {
    "owner": given_away,
    "writable by all": lambda path: path.chmod(path.stat().st_mode | 0o002),
    "writable by a group": lambda path: path.chmod(path.stat().st_mode | 0o020),
    "link": moved_behind_a_link,
}


@pytest.mark.parametrize("place", ["file", "folder", "folder of all versions"])
@pytest.mark.parametrize("way", WAYS_IN)
def test_what_another_user_may_have_written_is_not_executed_and_said_once(store, tmp_path, caplog, way, place):
    kernel = fresh()
    path = kernel._cache._path(SIGNATURE, kernel.targetctx)
    path.parent.mkdir(mode=0o700, parents=True)
    store.parent.chmod(0o700)
    content = pickle.dumps(Attack(tmp_path / "executed"))
    path.write_bytes(kept_files._checksum(content) + content)
    path.chmod(0o600)
    WAYS_IN[way]({"file": path, "folder": store, "folder of all versions": store.parent}[place])
    for _ in range(2):
        assert kernel._cache.load_overload(SIGNATURE, kernel.targetctx) is None
    assert not (tmp_path / "executed").exists()
    assert caplog.text.count("are skipped") == 1 and "NUMBA_CACHE_DIR" in caplog.text


def test_the_attack_would_succeed_from_a_file_of_ones_own(store, tmp_path):
    fresh()(ONES)
    (path,) = store.iterdir()
    content = pickle.dumps(Attack(tmp_path / "executed"))
    path.write_bytes(kept_files._checksum(content) + content)
    assert not is_loaded(fresh()) and (tmp_path / "executed").exists()


def test_a_folder_of_another_user_is_not_written_to(store):
    store.mkdir(parents=True)
    given_away(store)
    assert not is_loaded(fresh()) and not any(store.iterdir())


def test_kernels_are_for_their_user_alone(store):
    before = os.umask(0)
    try:
        fresh()(ONES)
    finally:
        os.umask(before)
    (path,) = store.iterdir()
    assert [each.stat().st_mode & 0o777 for each in (store.parent, store, path)] == [0o700, 0o700, 0o600]


def test_all_functions_of_the_packages_that_are_kept_are_in_this_store():
    """And not in Numba's own, which believes what it reads."""
    names = [module.name for module in modules() if "cache=True" in module.path.read_text()]
    found = [value for name in names for value in vars(import_module(name)).values() if hasattr(value, "py_func")]
    own = {value for value in found if not isinstance(value._cache, NullCache)}
    assert len(own) > 100 and {type(value._cache) for value in own} == {kernel_store.CpuKernelStore}
    assert all(digest(value) for value in own)


def test_a_folder_that_cannot_be_made_stops_no_kernel(tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO")
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(kernel_store, "folder", lambda: tmp_path / "file" / "version")
    assert not is_loaded(fresh()) and not is_loaded(fresh())
    assert "nothing can be written to" in caplog.text and "later starts" not in caplog.text


def test_a_folder_that_cannot_be_looked_into_stops_no_kernel(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_store, "folder", lambda: tmp_path / ("long" * 99))
    assert not is_loaded(fresh()) and not is_loaded(fresh())


def test_every_setting_of_numba_counts_wherever_it_comes_from(monkeypatch):
    before = kernel_store.surroundings()
    for name, value in (
        ("NUMBA_NUM_THREADS", 77),
        ("CUDA_DEFAULT_PTX_CC", (9, 9)),
        ("CUDA_THAT_A_SEARCH_FOR_GPUS_ADDS", 1),
    ):
        monkeypatch.setattr(config, name, value, raising=False)
        assert kernel_store.surroundings() == before
    for name, value in (("BOUNDSCHECK", 1), ("USING_SVML", not config.USING_SVML)):
        with monkeypatch.context() as changed:
            changed.setattr(config, name, value)
            assert kernel_store.surroundings() != before


def test_old_versions_are_removed(store):
    for k in range(kept_files.MOST_FOLDERS + 2):
        (store.parent / f"old_{k}").mkdir(parents=True)
    fresh()(ONES)
    assert store.is_dir() and len(list(store.parent.iterdir())) == kept_files.MOST_FOLDERS


def test_kernels_that_nobody_loads_are_removed_from_a_folder_that_is_too_large(store, monkeypatch):
    for second, factor in enumerate((2.0, 3.0, 4.0)):
        before = set(store.iterdir()) if store.exists() else set()
        fresh(factor)(ONES)
        (path,) = set(store.iterdir()) - before
        os.utime(path, ns=(0, second * 10**9))
    size = path.stat().st_size
    assert is_loaded(fresh(2.0))  # the oldest has been used now
    monkeypatch.setattr(kept_files, "MOST_BYTES", 3.5 * size)
    monkeypatch.setattr(kept_files, "LEFT_BYTES", 2.5 * size)
    fresh(5.0)(ONES)
    assert len(list(store.iterdir())) == 2 and is_loaded(fresh(2.0))


def test_processes_that_remove_each_others_kernels_do_not_disturb_each_other(store, monkeypatch):
    monkeypatch.setattr(kept_files, "MOST_BYTES", 0)
    monkeypatch.setattr(kept_files, "LEFT_BYTES", 0)
    store.mkdir(parents=True)
    children = [child_that_writes_and_removes(store, number) for number in range(3)]
    for _ in range(5):
        is_loaded(fresh())  # its sum is right, whether it was there or not
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]


def child_that_writes_and_removes(folder, number) -> int:
    """Id of a process that writes kernels and lets the store remove all that it finds, its own and others' files."""
    child = os.fork()
    if child:
        return child
    try:
        for _ in range(100):
            with suppress(OutputError), atomic_write(folder / f"kernel_{number}") as temporary:
                temporary.write_bytes(b"kernel")
            kept_files.keep_recent(folder)
    except BaseException:
        os._exit(1)
    os._exit(0)


def test_numbers_of_functions_differ_between_processes():
    kernel = fresh()
    kernel(ONES)
    (compiled,) = kernel.overloads.values()
    assert compiled.fndesc.uid > 2**32  # by chance smaller once in 2^28 runs


def test_numbers_of_functions_differ_in_a_child():
    before, (read, write) = FunctionIdentity.from_function(plus_one).unique_id, os.pipe()
    child = os.fork()
    if not child:
        os.write(write, str(FunctionIdentity.from_function(plus_one).unique_id).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert abs(int(os.read(read, 99)) - before) > 2**20


ALONE = """
import sys
import numpy as np
from muphy_lb.backends.cpu.skeletons import sweep_jit

@sweep_jit
def kernel(n):
    return np.ones(n).sum()

print(kernel(8), kernel._cache_hits, 'numba.np.arraymath' in sys.modules)
"""


def test_a_kernel_is_loaded_as_the_first_thing_in_a_process(tmp_path):
    """Without the module of Numba that defines the sum of an array, which imports SciPy's linear algebra."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for hits in ("Counter() True", "Counter({(int64,): 1}) False"):
        done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, env=environment)
        assert done.stdout.strip() == f"8.0 {hits}", done.stderr


@pytest.mark.parametrize(("version", "is_kept"), [((0, 61), True), (kept.NEWEST_TRIED, True), ((0, 99), False)])
def test_kernels_are_kept_with_every_known_numba_and_only_compiled_with_others(monkeypatch, caplog, version, is_kept):
    known.is_known.cache_clear()
    monkeypatch.setattr(kept.numba, "version_info", namedtuple("Version", "short")(version))
    caplog.set_level("INFO")
    kernel = summing(scaled(2.0), kept.stored(njit))
    assert isinstance(kernel._cache, kernel_store.CpuKernelStore) == is_kept
    assert ("compiled again at every start" in caplog.text) != is_kept
    known.is_known.cache_clear()
