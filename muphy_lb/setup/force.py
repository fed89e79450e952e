"""From the case's accelerations and pressure drops to the body force at the nodes."""

from dataclasses import replace

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import Units
from muphy_lb.boundaries.waveform import DrivingForce, ForceRecord, Turn, read_record
from muphy_lb.case.case import Case
from muphy_lb.domain import LocalDomain, check_dimension
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.lattice import Lattice
from muphy_lb.model.model import SCHEDULED
from muphy_lb.operators import FIELD, UNIFORM, VARYING, Operator
from muphy_lb.setup.input_fields import Wanted, read_field
from muphy_lb.setup.waveforms import waveform_factor


def uniform_acceleration_m_s2(case: Case, nodes: GeometryHeader) -> np.ndarray:
    """(3,) uniform body force per mass [m/s2]. A pressure drop over the length L of a periodic box is a body force drop
    / (rho L), since the pressure of a periodic flow is this constant gradient plus a periodic part. Raises InputError:
    a pressure drop along an axis that is not periodic."""
    drop = np.array(case.flow.pressure_drop_pa)
    for axis in np.flatnonzero(drop):
        if not nodes.periodic[axis]:
            raise InputError(
                f"flow.pressure_drop_pa has a drop along {'xyz'[axis]}, where the box is not periodic; give"
                f" geometry.periodic = ['{'xyz'[axis]}'], or openings with pressure_pa"
            )
    length_m = nodes.spacing_m * np.array(nodes.shape[::-1])
    return np.array(case.flow.acceleration_m_s2) + drop / (case.fluid.density_kg_m3 * length_m)


def build_force(
    case: Case, nodes: GeometryHeader, domain: LocalDomain, units: Units
) -> tuple[tuple, Operator, DrivingForce]:
    """(force parameters of the model, their operator, uniform force), per volume in lattice units (rho_0 = 1). Raises
    InputError: the file of a force field or of a record cannot be read or does not fit the image or the lattice; a
    plane flow whose force turns out of its plane."""
    terms = [_term(case, number, nodes, domain.lattice, units) for number in range(len(case.flow.accelerations))]
    driving = replace(_driving_force(case, nodes, units), terms=tuple(terms))
    if driving.changes:
        return (SCHEDULED,) * 3, VARYING, driving
    uniform = driving(np.zeros(1))[0]
    if case.flow.acceleration_file is None:
        return tuple(uniform.tolist()), UNIFORM, driving
    field = units.acceleration_to_lattice(_field_m_s2(case, nodes, domain)) + uniform
    return tuple(np.ascontiguousarray(field.T)), FIELD, driving


def _driving_force(case: Case, nodes: GeometryHeader, units: Units) -> DrivingForce:
    force = units.acceleration_to_lattice(uniform_acceleration_m_s2(case, nodes))
    factor, section = waveform_factor(case, case.flow.waveform), case.flow.turn
    if section is None:
        return DrivingForce(force, factor)
    axis = np.array(section.axis)
    if case.lattice.name.startswith("D2") and axis[:2].any():
        raise InputError(
            f"flow.turn.axis is {list(section.axis)}, but lattice {case.lattice.name} is two-dimensional and forces"
            " turn in its plane; set it to [0.0, 0.0, 1.0]"
        )
    turn = Turn(axis / np.linalg.norm(axis), section.angle_rad, waveform_factor(case, section.waveform))
    return DrivingForce(force, factor, turn)


def _term(case: Case, number: int, nodes: GeometryHeader, lattice: Lattice, units: Units) -> DrivingForce | ForceRecord:
    """The further acceleration of a number, as a force over time."""
    section = case.flow.accelerations[number]
    if section.acceleration_m_s2 is not None:
        vector = np.array(section.acceleration_m_s2)
        check_dimension(nodes, lattice, vector)
        return DrivingForce(units.acceleration_to_lattice(vector), waveform_factor(case, section.waveform))
    time_s, record_m_s2 = read_record(case.folder / str(section.file), f"flow.accelerations[{number}].file")
    check_dimension(nodes, lattice, np.abs(record_m_s2).max(axis=0))
    return ForceRecord(time_s, units.acceleration_to_lattice(record_m_s2))


def _field_m_s2(case: Case, nodes: GeometryHeader, domain: LocalDomain) -> np.ndarray:
    path = case.folder / case.flow.acceleration_file
    local = read_field(path, Wanted("flow.acceleration_file", "acceleration", 3), nodes, domain)
    strongest = np.abs(local[:, 2]).argmax()
    check_dimension(nodes, domain.lattice, local[strongest])
    return local
