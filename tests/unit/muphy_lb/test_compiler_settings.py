"""What Numba knows of its settings is what it knew before, in less time."""

import importlib

import pytest
from numba.core import targetconfig

from muphy_lb.backends import compiler_settings
from muphy_lb.backends.cpu import skeletons  # noqa: F401  (it lets settings be compared quickly)


def settings_of(name):
    """Settings of a compiler, of which one differs from its default."""
    flags = importlib.import_module(name)
    kind = getattr(flags, "CUDAFlags", None) or flags.Flags
    settings = kind()
    settings.nrt = not settings.nrt
    return settings


@pytest.mark.parametrize("name", ["numba.core.compiler", "numba.cuda.compiler"])
def test_values_are_those_that_properties_tell(name):
    settings = settings_of(name)
    expected = {name: getattr(settings, name) for name in settings.options}
    assert len(expected) > 10 and compiler_settings.values(settings) == expected
    assert compiler_settings.values(type(settings)()) != expected


def test_settings_are_compared_by_these_values():
    assert targetconfig.TargetConfig.values is compiler_settings.values
    settings, other = settings_of("numba.core.compiler"), settings_of("numba.core.compiler")
    assert settings == other and hash(settings) == hash(other)
    other.nrt = not other.nrt
    assert settings != other
