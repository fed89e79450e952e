"""The equations of fluctuating flow: the covariance of the noise, and the noise itself.

At rest a collision is linear: deviations become L f. In thermal equilibrium deviations of different populations are
independent, with variances mu w_q, mu = rho kT / c_s^2 (the lattice's own Poisson statistics). Streaming permutes
populations, so equilibrium lasts if what the collision takes away comes back as noise of covariance

    C = mu (W - L W L^T),    W = diag(w_q).

For orthogonal modes that relax with rates s_k this is mu b_k [1 - (1 - s_k)^2] on every mode that is not conserved.
Duenweg, Schiller, Ladd, Phys. Rev. E 76, 036704 (2007), Eqs. (40)-(55); Adhikari, Stratford, Cates, Wagner, Europhys.
Lett. 71, 473 (2005). The form by W and L needs no basis in which the collision is diagonal, and so serves every
relaxation of the program, those with non-orthogonal moments too.

Every mode of the non-equilibrium gets a random number of its own, uniform with variance one: that the velocities are
Gaussian nevertheless follows from the many numbers that add up to one of them (Ladd, J. Fluid Mech. 271, 285 (1994)).
The numbers are 16 bits each of Philox words, keyed by seed, voxel and step (:mod:`muphy_lb.operators.philox`).
"""

from collections.abc import Mapping
from functools import cache
from itertools import product
from math import sqrt

import numpy as np

from muphy_lb.lattice import Lattice, combined
from muphy_lb.operators import OMEGA, Operator, Parameter, Relaxation, named
from muphy_lb.operators.philox import WORD, philox, philox_node
from muphy_lb.operators.unroll import unroll

NEGLIGIBLE = 1e-12


@cache
def noise_modes(lattice: Lattice) -> np.ndarray:
    """(m, Q) orthonormal modes of the non-equilibrium, first those even in the lattice vectors, then the odd ones. Row
    k holds w_q e_kq / sqrt(b_k), so that sum_q mode_k mode_l / w_q = delta_kl; the e_k are polynomials of the lattice
    vectors by rising degree, orthogonal to mass and momentum."""
    x, y, z = lattice.c.T.astype(float)
    powers = sorted(product(range(3), repeat=3), key=sum)
    found = [lattice.w.copy(), *(np.sqrt(3.0) * lattice.w * axis for axis in (x, y, z)[: lattice.dimension])]
    n_conserved = len(found)
    for i, j, k in powers:
        mode = lattice.w * x**i * y**j * z**k
        for _ in range(2):  # twice: round-off of the first pass
            for other in found:
                mode = mode - other * (mode @ (other / lattice.w))
        norm = np.sqrt(mode @ (mode / lattice.w))
        if norm > 1e-8:
            found.append(np.where(np.abs(mode) < NEGLIGIBLE * norm, 0.0, mode / norm))
    modes = np.array(found[n_conserved:])
    is_odd = np.array([np.allclose(mode[lattice.opposite], -mode) for mode in modes])
    return np.vstack((modes[~is_odd], modes[is_odd]))


def linear_collision(relaxation: Relaxation, rates: Mapping[str, float], lattice: Lattice) -> np.ndarray:
    """(Q, Q) matrix L of the collision of deviations from rest, without force."""
    deviations = np.eye(lattice.q)
    projection = lattice.w[:, None] * (1.0 + 3.0 * lattice.c @ lattice.c.T)
    nothing = np.zeros_like(deviations)
    return relaxation.reference(deviations, projection, nothing, rates[OMEGA], rates, lattice)


def noise_amplitudes(relaxation: Relaxation, rates: Mapping[str, float], lattice: Lattice) -> np.ndarray:
    """(m, m) lower triangular T: sum_l T_kl r_l with independent r_l of variance 1 is the noise of mode k for mu = 1.
    Raises ValueError: the collision amplifies a combination of modes, so that no noise balances it."""
    modes, matrix = noise_modes(lattice), linear_collision(relaxation, rates, lattice)
    covariance = np.diag(lattice.w) - matrix @ (lattice.w[:, None] * matrix.T)
    dual = modes / lattice.w
    return _root(dual @ covariance @ dual.T)


def _root(covariance: np.ndarray) -> np.ndarray:
    """Cholesky factor of a positive semidefinite matrix. Raises ValueError: it is not."""
    n = len(covariance)
    root = np.zeros_like(covariance)
    for k in range(n):
        pivot = covariance[k, k] - root[k, :k] @ root[k, :k]
        below = covariance[k + 1 :, k] - root[k + 1 :, :k] @ root[k, :k]
        if pivot < -1e-10 or (pivot < 1e-10 and np.abs(below).max(initial=0.0) > 1e-6):
            raise ValueError("no noise balances a collision with these rates")
        if pivot > NEGLIGIBLE:
            root[k, k] = np.sqrt(pivot)
            root[k + 1 :, k] = below / root[k, k]
    return np.where(np.abs(root) < NEGLIGIBLE, 0.0, root)


SEED, STEP, VOXEL = "noise_seed", "noise_step", "noise_voxel"
STREAM = 0x666C7563  # second word of the key: sets the noise of the fluid apart from that of others with the same seed

LEVELS = 1 << 16
SCALE = sqrt(12.0 / (LEVELS**2 - 1))  # makes the variance of LEVELS equally likely numbers, 1 apart, one

NUMBERS_PER_BLOCK = 8
Pattern = tuple[tuple[int, int], ...]


def amplitude_name(k: int, j: int) -> str:
    """Name of the parameter T_kj."""
    return f"noise_{k}_{j}"


def pattern_of(amplitudes: np.ndarray) -> Pattern:
    """(k, j) of the entries of T that are not zero."""
    return tuple((int(k), int(j)) for k, j in np.argwhere(amplitudes))


@cache
def noise(lattice: Lattice, pattern: Pattern) -> Operator:
    """The source of noise with the given non-zero amplitudes; cached: compiled code is cached by operator. The factory
    reads the seed (int64), the number of the step, the voxel ids, and the amplitudes in stored units."""
    amplitudes = tuple(Parameter(amplitude_name(k, j), in_stored_units=True) for k, j in pattern)

    def reference(n, lattice, parameters):
        modes = noise_modes(lattice)
        matrix = np.zeros((len(modes), len(modes)))
        for k, j in pattern:
            matrix[k, j] = parameters[amplitude_name(k, j)]
        numbers = random_numbers(len(modes), parameters[VOXEL][n], parameters[STEP][0], parameters[SEED])
        return combined(modes.T, combined(matrix, numbers))

    def node(lattice, precision, jit, at):
        return _node(lattice, precision, jit, at, pattern)

    return Operator("noise", reference, node, (*named(SEED, STEP, VOXEL), *amplitudes))


def random_numbers(count: int, voxel: np.ndarray, step: int, seed: int) -> np.ndarray:
    """(count, n) independent numbers of mean 0 and variance 1 for voxels (n,) in a step."""
    low, high = voxel & WORD, voxel >> 32
    n_blocks = -(-count // NUMBERS_PER_BLOCK)
    key = int(seed) & WORD, (int(seed) >> 32) ^ STREAM
    blocks = [philox((low, high, step & WORD, (step >> 32 << 8) + b), key) for b in range(n_blocks)]
    words = np.concatenate(blocks).astype(np.int64)
    pairs = np.stack((words & (LEVELS - 1), words >> 16), axis=1).reshape(-1, voxel.size)
    return SCALE * (pairs[:count] - (LEVELS - 1) / 2)


def _node(lattice, precision, jit, at, pattern: Pattern):
    real, word, wide = precision.real, np.uint32, np.int64
    modes = noise_modes(lattice)
    n_modes = len(modes)
    n_even = next((k for k, mode in enumerate(modes) if np.allclose(mode[lattice.opposite], -mode)), n_modes)
    n_odd, n_pairs, n_entries = n_modes - n_even, lattice.q // 2, len(pattern)
    even_row, odd_row = (
        tuple(tuple(real(SCALE * x) for x in mode[1::2]) for mode in rows) for rows in (modes[:n_even], modes[n_even:])
    )
    odd_mode = tuple(range(n_even, n_modes))
    row, column = zip(*pattern, strict=True)
    slot = tuple(at[amplitude_name(k, j)] for k, j in pattern)
    numbers_at, seed_at, step_at, voxel_at = _numbers_node(n_modes, real, jit), at[SEED], at[STEP], at[VOXEL]
    low_bits, high_bits, block_bits, zero = wide(WORD), wide(32), wide(8), real(0)

    def add_noise(f, n, parameters):
        voxel, step, seed = parameters[voxel_at][n], parameters[step_at][0], parameters[seed_at]
        numbers = numbers_at(
            word(voxel & low_bits),
            word(voxel >> high_bits),
            word(step & low_bits),
            word((step >> high_bits) << block_bits),
            word(seed & low_bits),
            word(seed >> high_bits),
        )
        mode = [zero] * n_modes
        for e in range(n_entries):
            mode[row[e]] += parameters[slot[e]] * numbers[column[e]]
        rest = f[0]
        for p in range(n_pairs):
            even, odd = zero, zero
            for k in range(n_even):
                even += even_row[k][p] * mode[k]
            for k in range(n_odd):
                odd += odd_row[k][p] * mode[odd_mode[k]]
            rest -= even + even  # the rest population conserves mass to the last digit
            f[2 * p + 1] += even + odd
            f[2 * p + 2] += even - odd
        f[0] = rest

    return jit(unroll(add_noise))


def _numbers_node(count: int, real, jit):
    """Node function: counter and seed, six uint32 words -> numbers, at least ``count``, in units of ``SCALE``."""
    words_at = philox_node(jit)
    n_blocks = -(-count // NUMBERS_PER_BLOCK)
    n_numbers, block = NUMBERS_PER_BLOCK * n_blocks, tuple(np.uint32(b) for b in range(n_blocks))
    middle, mask, shift, stream = real((LEVELS - 1) / 2), np.uint32(LEVELS - 1), np.uint32(16), np.uint32(STREAM)
    word, whole, zero = np.uint32, np.int32, real(0)
    low = jit(lambda w: real(whole(w & mask)) - middle)
    high = jit(lambda w: real(whole(w >> shift)) - middle)

    def numbers(c0, c1, c2, c3, k0, k1):
        number = [zero] * n_numbers
        for b in range(n_blocks):
            w0, w1, w2, w3 = words_at(c0, c1, c2, word(c3 + block[b]), k0, word(k1 ^ stream))
            number[8 * b], number[8 * b + 1] = low(w0), high(w0)
            number[8 * b + 2], number[8 * b + 3] = low(w1), high(w1)
            number[8 * b + 4], number[8 * b + 5] = low(w2), high(w2)
            number[8 * b + 6], number[8 * b + 7] = low(w3), high(w3)
        return number

    return jit(unroll(numbers))
