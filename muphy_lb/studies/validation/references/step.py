"""Backward-facing step of expansion 2: where the flow reattaches.

Re = U 2h / nu with the mean inlet velocity U and the inlet height h, which is the height of the step too; the inlet
profile is parabolic. Gartling's Re 800 problem has no inlet channel and counts channel heights: do not mix the two.

Source: Erturk, Comput. Fluids 37, 633 (2008); the value at Re 600 from a public transcription, the others from memory.
"""

from types import MappingProxyType

REATTACHMENT = MappingProxyType(
    {100: 2.922, 200: 4.982, 300: 6.751, 400: 8.237, 500: 9.420, 600: 10.349, 800: 11.834, 1000: 13.121}
)  # Reynolds number: length over step height
REMEMBERED = tuple(reynolds for reynolds in REATTACHMENT if reynolds != 600)
