"""Lumped outlets: the pressure behind an opening as a linear network of resistances and capacitances of its outflow.

The impedance of such a network, in Foster's form, is Z(s) = R_0 + sum_i R_i / (1 + s tau_i): every mode is a
capacitance beside a resistance. Over T during which the flow Q is constant each mode advances exactly,

    x_i(t + T) = e_i x_i(t) + g_i Q,    e_i = exp(-T / tau_i),    g_i = R_i (1 - e_i)    (T / C for tau_i = infinity),

and the pressure is p = p_0(t) + R_0 Q + sum_i x_i, with p_0(t) = sum_k a_k cos(k w t) + b_k sin(k w t), k = 0, 1, ....
At an update the modes advance with the flow Q of the stretch behind, under whose pressure p a flow Q_end is measured.
For the stretch ahead the flow is expected to answer the new pressure p' by -Y (p' - p):

    p' = [p_0' + sum_i e_i x_i + S (Q_end + Y p)] / (1 + S Y),    S = R_0 + sum_i g_i.

Without that a resistance above the wave impedance Z_w = rho c_s / area, which reflects sound, would be unstable.

Updates every step, where populations are stored after their collision: Q_end is what the populations that leave in the
step ahead would make of it under p, and Y what the links answer in this very step, sum 2 w_q c_s^2 in lattice units (of
a fluid at rest). Pressure and flow then obey the network in every step, and Q = Q_end - Y (p' - p) of the step behind.

Otherwise Y = 1 / Z_w, as a sound wave answers that leaves the vessel. In a steady flow nothing of it is left; a step of
the flow arrives late by S / Z_w updates. Under a pressure that is held for n steps the flow returns, so that what it is
at the end of a stretch is not its mean, which is taken, for Q_end as well, as a straight line from what was expected:

    Q = (1 - b) Q_end + b [Q_end - Y (p' - p)] of the update before,    b = (n - 1) / 2 n.

Behind an opening that lets sound out R_0 = Z_w, and p is less by rho (Q / area)^2 / 2. So a wave carried along by a
stream of velocity u meets Z_w / (1 + u / c_s) to first order, and p is that which a wave from a fluid at rest leaves,
p_0 + rho c_s^2 [exp(u / c_s) - 1] (Riemann invariant of an isothermal gas), to second order.

State, all in SI units: p, the expected flow, the modes, cos(w t), sin(w t).
"""

from functools import cache

import numpy as np

from muphy_lb.operators.operator import Operator, named
from muphy_lb.operators.unroll import unroll

COSINE, SINE = "turn_cosine", "turn_sine"  # parameters: cosine and sine of the phase of one update
#: Parameters: a_0, R_0, Y, rho / 2 area^2 or 0, b of the stretch ahead, b or 1 of that behind, the SI value of a unit
#: of outflow, rho - 1 per Pa, the pressure of rho = 1.
NUMBERS = ("mean", "resistance", "admittance", "inertia", "bend", "kept", "flow_unit", "density_per_pa", "reference")


@cache
def network(n_modes: int, n_harmonics: int) -> Operator:
    """The condition with feedback ``(outflow, deviation, state, parameters)`` of a lumped outlet.

    Args:
        n_modes: number of capacitances.
        n_harmonics: harmonics of p_0(t); 0 for a constant.
    """
    decay, gain = _numbered("decay", n_modes), _numbered("gain", n_modes)
    cosine, sine = _numbered("cosine", n_harmonics), _numbered("sine", n_harmonics)

    def reference(outflow, deviation, state, parameters):
        pressure, expected, *modes, c, s = state
        at_end, bend, kept = outflow * parameters["flow_unit"], parameters["bend"], parameters["kept"]
        passed, flow = ((1.0 - share) * at_end + share * expected for share in (kept, bend))
        c, s = _turned(c, s, parameters[COSINE], parameters[SINE])
        imposed, wave = parameters["mean"], complex(1.0)
        for a, b in zip(cosine, sine, strict=True):
            wave *= complex(c, s)
            imposed += parameters[a] * wave.real + parameters[b] * wave.imag
        e, g = (np.array([parameters[name] for name in names]) for names in (decay, gain))
        modes = e * modes + g * passed
        at_once, answer = parameters["resistance"] + g.sum(), parameters["admittance"]
        imposed -= parameters["inertia"] * flow * flow
        ahead = imposed + (e * modes).sum() + at_once * (flow + answer * pressure)
        found = ahead / (1.0 + answer * at_once)
        value = parameters["density_per_pa"] * (found - parameters["reference"])
        return value, (found, at_end - answer * (found - pressure), *modes, c, s)

    def node(lattice, precision, jit, at):
        return _node(jit, at, tuple(at[e] for e in decay), tuple(at[g] for g in gain), (cosine, sine))

    names = (COSINE, SINE, *NUMBERS, *decay, *gain, *cosine, *sine)
    return Operator(f"network-{n_modes}-{n_harmonics}", reference, node, named(*names))


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}_{k}" for k in range(count))


def _turned(c, s, turn_c, turn_s):
    """The phase advanced, and brought back to the unit circle, from which rounding leads away."""
    c, s = c * turn_c - s * turn_s, s * turn_c + c * turn_s
    scale = 1.5 - 0.5 * (c * c + s * s)
    return c * scale, s * scale


def _node(jit, at, decay, gain, names):
    cosine, sine = (tuple(at[name] for name in group) for group in names)
    n_modes, n_harmonics, behind = len(decay), len(cosine), 2 + len(decay)
    mean, resistance, admittance, inertia, bend, kept, flow_unit, per_pascal, reference = (at[name] for name in NUMBERS)
    turn_c, turn_s = at[COSINE], at[SINE]
    turned = jit(_turned)

    def advance(outflow, deviation, state, parameters):
        c, s = turned(state[behind], state[behind + 1], parameters[turn_c], parameters[turn_s])
        state[behind], state[behind + 1] = c, s
        imposed, wave_c, wave_s = parameters[mean], 1.0, 0.0
        for k in range(n_harmonics):
            wave_c, wave_s = wave_c * c - wave_s * s, wave_c * s + wave_s * c
            imposed += parameters[cosine[k]] * wave_c + parameters[sine[k]] * wave_s
        at_end, at_once, answer = outflow * parameters[flow_unit], parameters[resistance], parameters[admittance]
        passed = (1.0 - parameters[kept]) * at_end + parameters[kept] * state[1]
        flow = (1.0 - parameters[bend]) * at_end + parameters[bend] * state[1]
        imposed -= parameters[inertia] * flow * flow
        for i in range(n_modes):
            state[2 + i] = parameters[decay[i]] * state[2 + i] + parameters[gain[i]] * passed
            imposed += parameters[decay[i]] * state[2 + i]
            at_once += parameters[gain[i]]
        found = (imposed + at_once * (flow + answer * state[0])) / (1.0 + answer * at_once)
        state[0], state[1] = found, at_end - answer * (found - state[0])
        return parameters[per_pascal] * (found - parameters[reference])

    return jit(unroll(advance))
