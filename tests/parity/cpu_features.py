"""What the CPU that runs the tests can do."""

from pathlib import Path

import pytest

CPU_INFO = Path("/proc/cpuinfo")


def has_avx2() -> bool:
    """Whether there are 256-bit vector instructions."""
    return CPU_INFO.exists() and " avx2" in CPU_INFO.read_text()


needs_wide_vectors = pytest.mark.skipif(not has_avx2(), reason="the CPU has no 256-bit vector instructions (AVX2)")
