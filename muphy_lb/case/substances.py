"""Density and viscosity of substances by temperature and pressure, for sections of the case that name one.

The density of water and brine, and the viscosity of brine, follow Batzle, Wang, Geophysics 57, 1396 (1992), eqs 27 and
32, the density of water within 0.3 %; its viscosity follows IAPWS SR6-08 (2008), at 0.1 MPa, within 1 % from 0 to 200
degrees Celsius (0.6 % low at 10 MPa and 60). Both are refused below the pressure of vapour of water by Antoine's
equation with coefficients from memory, 0.3 % below 2,339 Pa at 20 degrees, 1.6 % and 11 % below 101,325 Pa and 1.555
MPa at 100 and 200. The density of mercury is a line through 13,595.0
and 13,546.2 kg/m3 at 0 and 20 degrees; its viscosity has the form of Assael et al., J. Phys. Chem. Ref. Data 41, 033101
(2012), with coefficients from memory (0.9 % above 1.526 mPa s at 25 degrees). All others follow the equations of state
and the transport equations of CoolProp (Bell et al., Ind. Eng. Chem. Res. 53, 2498 (2014)), an optional library.
"""

from collections.abc import Mapping
from math import exp
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, ValidationError

from muphy_lb.base.errors import InputError
from muphy_lb.case.section import Positive, Section, wrong_key

OF_COOLPROP: Mapping[str, str] = MappingProxyType(
    {
        "air": "Air",
        "carbon dioxide": "CarbonDioxide",
        "decane": "n-Decane",
        "dodecane": "n-Dodecane",
        "hydrogen": "Hydrogen",
        "methane": "Methane",
        "nitrogen": "Nitrogen",
        "octane": "n-Octane",
    }
)
SUBSTANCES = ("brine", "mercury", "water", *OF_COOLPROP)
if TYPE_CHECKING:
    SubstanceName = str
else:
    SubstanceName = Literal[*SUBSTANCES]
ROOM_K, ATMOSPHERE_PA, ZERO_CELSIUS_K = 293.15, 101325.0, 273.15
CONDITIONS = ("substance", "at_temperature_k", "at_pressure_pa", "salinity")
OF_WATER = ((280.68, -1.9), (511.45, -7.7), (61.131, -19.6), (0.45903, -40.0))
"""a, b of the viscosity sum a (T / 300 K)^b of water [uPa s]; from memory, compared with IAPWS at 20 to 200 degrees."""
DENSITY, VISCOSITY, KINEMATIC = "density_kg_m3", "dynamic_viscosity_pa_s", "kinematic_viscosity_m2_s"


class SubstanceKeys(Section):
    """Keys of a fluid that a section names; density and viscosity that are given beside them count."""

    substance: SubstanceName | None = None
    """brine, mercury, water; by CoolProp air, carbon dioxide, decane, dodecane, hydrogen, methane, nitrogen, octane:
    what is not given of density and viscosity is that of this substance"""
    at_temperature_k: Positive | None = None
    """temperature of the substance [K]; 293.15 if not given"""
    at_pressure_pa: Positive | None = None
    """pressure of the substance [Pa]; 101325 if not given"""
    salinity: Annotated[float, Field(ge=0.0, le=0.3)] | None = None
    """mass fraction of salt in brine; 0.035 if not given"""

    @classmethod
    def completed(cls, given: Mapping) -> Mapping:
        """The table with the properties of the substance that it does not give."""
        try:
            found = _implied(given)
        except InputError as error:
            problems: list = [wrong_key(("substance",), str(error), given["substance"])]
            raise ValidationError.from_exception_data(cls.__name__, problems) from None
        if found is None:
            return given
        density, viscosity = found
        made = {DENSITY: density} if DENSITY in cls.all_fields() else {}
        if not given.keys() & {VISCOSITY, KINEMATIC}:
            made[VISCOSITY] = viscosity
        return {**made, **given}

    @classmethod
    def rules(cls, given):
        """Conditions are those of a substance, salinity is that of brine."""
        if "substance" not in given:
            for key in sorted(given.keys() & set(CONDITIONS)):
                yield f"has {key} but no substance; name one of {', '.join(SUBSTANCES)}, or leave the key out"
        elif "salinity" in given and given["substance"] != "brine":
            yield f"has salinity and substance = {given['substance']!r}; give 'brine', or leave salinity out"


def _implied(given: Mapping) -> tuple[float, float] | None:
    """Density and viscosity of the substance of a table in plain values; None if it names none, or has values that are
    none, which is reported for each key. Raises InputError: as of :func:`properties`."""
    name, salinity = given.get("substance"), given.get("salinity", 0.035)
    values = (given.get("at_temperature_k", ROOM_K), given.get("at_pressure_pa", ATMOSPHERE_PA))
    if name not in SUBSTANCES or not all(isinstance(each, int | float) for each in (*values, salinity)):
        return None
    return properties(name, *values, salinity) if min(values) > 0.0 <= salinity else None


def forget_implied(before: Mapping, table: dict) -> None:
    """Remove, in place, from each changed section (``before`` and ``table`` are of the same case, in plain values) the
    density and viscosity that followed from its substance as it was and that the change replaces."""
    for name, section in table.items():
        was = before.get(name)
        if not isinstance(section, dict) or not isinstance(was, dict) or section.get("substance") is None:
            continue
        try:
            implied = dict(zip((DENSITY, VISCOSITY), _implied(was) or (), strict=False))
        except InputError:
            continue
        is_other = any(section.get(key) != was.get(key) for key in CONDITIONS)
        for key, value in implied.items():
            has_other = key == VISCOSITY and KINEMATIC in section and KINEMATIC not in was
            if (is_other or has_other) and section.get(key) == was.get(key) == value:
                del section[key]


def properties(
    name: str, temperature_k: float, pressure_pa: float = ATMOSPHERE_PA, salinity: float = 0.0
) -> tuple[float, float]:
    """Density [kg/m3] and dynamic viscosity [Pa s] of one of ``SUBSTANCES``; ``salinity`` is a mass fraction, of brine.

    Raises InputError: a temperature or pressure that its equation does not know, or a missing library.
    """
    if name in OF_COOLPROP:
        return _by_coolprop(name, temperature_k, pressure_pa)
    low_k, high_k = (234.3, 600.0) if name == "mercury" else (ZERO_CELSIUS_K, 473.15)
    if not low_k <= temperature_k <= high_k or pressure_pa > 1e8 or salinity > 0.3:
        raise InputError(
            f"cannot be computed: {name} is known from {low_k:g} to {high_k:g} K, up to 1e8 Pa and a salinity of 0.3;"
            f" here {temperature_k:g} K, {pressure_pa:g} Pa, {salinity:g}; give density and viscosity by numbers"
        )
    if name != "mercury" and pressure_pa < (vapour_pa := 1e5 * 10.0 ** (4.6543 - 1435.264 / (temperature_k - 64.848))):
        raise InputError(
            f"cannot be computed: {name} boils at {temperature_k:g} K and {pressure_pa:g} Pa; give at_pressure_pa ="
            f" {1.1 * vapour_pa:.2g} or more, or a lower temperature"
        )
    if name == "mercury":
        return 13595.0 - 2.4386 * (temperature_k - ZERO_CELSIUS_K), 1e-3 * 10.0 ** (132.29 / temperature_k - 0.2561)
    t, p, s = temperature_k - ZERO_CELSIUS_K, 1e-6 * pressure_pa, salinity if name == "brine" else 0.0
    of_water = -80.0 * t - 3.3 * t**2 + 0.00175 * t**3 + 489.0 * p - 2.0 * t * p + 0.016 * t**2 * p
    of_water += -1.3e-5 * t**3 * p - 0.333 * p**2 - 0.002 * t * p**2
    of_salt = 300.0 * p - 2400.0 * p * s + t * (80.0 + 3.0 * t - 3300.0 * s - 13.0 * p + 47.0 * p * s)
    density = 1.0 + 1e-6 * of_water + s * (0.668 + 0.44 * s + 1e-6 * of_salt)
    if name == "water":
        ratio = temperature_k / 300.0
        return 1e3 * density, 1e-6 * sum(a * ratio**b for a, b in OF_WATER)
    falls = (0.42 * (s**0.8 - 0.17) ** 2 + 0.045) * t**0.8
    return 1e3 * density, 1e-3 * (0.1 + 0.333 * s + (1.65 + 91.9 * s**3) * exp(-falls))


def _by_coolprop(name: str, temperature_k: float, pressure_pa: float) -> tuple[float, float]:
    try:
        from CoolProp.CoolProp import PropsSI
    except ModuleNotFoundError as error:
        raise InputError(
            f"cannot be computed: {name} needs the package CoolProp, which is not installed; pip install"
            ' "muphy_lb[fluids]", or give density and viscosity by numbers'
        ) from error
    try:
        density, viscosity = (
            float(PropsSI(key, "T", temperature_k, "P", pressure_pa, OF_COOLPROP[name])) for key in ("D", "V")
        )
    except ValueError as error:
        raise InputError(f"cannot be computed: {name}, {temperature_k:g} K, {pressure_pa:g} Pa: {error}") from error
    return density, viscosity
