"""Particles at one moment: a checked table of those that a user hands in, and a snapshot of those that a run writes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.limits import shown

MAX_ID = 2**31 - 1  # largest id: devices hold ids as integers of 32 bits

#: Names of kinds: a word of the files that have one, without what separates words there.
KIND = re.compile(r"[^\s,\"]{1,100}")
KIND_WORDS = "a word of at most 100 characters, without spaces, commas and quotation marks"

NO_BONDS = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class BondedInteractions:
    """Bonds (k = 2) or angles (k = 3) between particles, as they are listed somewhere."""

    ids: np.ndarray  #: (m, k) int64 ids of the particles
    kind: np.ndarray | None = None  #: (m,) names, or None where the list has none
    source: str = "the particles"  #: where they come from, for messages
    lines: Sequence[int] | None = None  #: (m,) numbers of their lines in a file, or None

    def location(self, row: int) -> str:
        """Position of an entry in the file, for messages."""
        return _location(self.source, self.lines, row)


def no_interactions(n_particles: int) -> BondedInteractions:
    """An empty list of bonds (2 particles each) or angles (3)."""
    return BondedInteractions(np.empty((0, n_particles), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class ParticleTable:
    """Particles in SI units; bonds and angles name their particles by id. Raises InputError: no particles; an id that
    is there twice, or out of range; a position or velocity that is not finite; a kind that is no plain word; a bond or
    an angle that names an unknown particle, or one of them twice, or that is there twice."""

    id: np.ndarray  #: (n,) int64, each once, 0 or more
    position_m: np.ndarray  #: (n, 3) float64
    velocity_m_s: np.ndarray | None = None  #: (n, 3) float64, or None where the source has none
    kind: np.ndarray | None = None  #: (n,) names, or None where the source has none
    bond_list: BondedInteractions = field(default_factory=lambda: no_interactions(2))  #: the bonds
    #: the angles, the middle particle second
    angle_list: BondedInteractions = field(default_factory=lambda: no_interactions(3))
    box_m: np.ndarray | None = None  #: (2, 3) lowest and highest corner of the box that the source states, or None
    source: str = "the particles"  #: where the particles come from, for messages
    lines: Sequence[int] | None = None  #: (n,) numbers of their lines in a file, or None

    def __post_init__(self):
        put = object.__setattr__
        put(self, "id", np.asarray(self.id, dtype=np.int64))
        put(self, "position_m", np.asarray(self.position_m, dtype=np.float64))
        vectors = {"position": self.position_m}
        if self.velocity_m_s is not None:
            put(self, "velocity_m_s", np.asarray(self.velocity_m_s, dtype=np.float64))
            vectors["velocity"] = self.velocity_m_s
        self._check_shapes(vectors)
        self._check_ids()
        for name, values in vectors.items():
            wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
            if wrong.size:
                row = wrong[0]
                raise InputError(
                    f"{self.location(row)}: the {name} of particle {self.id[row]} is {values[row].tolist()}; it must be"
                    " three finite numbers"
                )
        check_kinds(self.kind, self.location)
        self._check_interactions("bond", self.bond_list)
        self._check_interactions("angle", self.angle_list)

    @property
    def n_particles(self) -> int:
        """Number of particles."""
        return len(self.id)

    @property
    def bonds(self) -> np.ndarray:
        """(m, 2) int64 ids of the bonded particles."""
        return self.bond_list.ids

    @property
    def angles(self) -> np.ndarray:
        """(k, 3) int64 ids of the particles of each angle, the middle one second."""
        return self.angle_list.ids

    @property
    def bond_kind(self) -> np.ndarray | None:
        """(m,) names of the kinds of bonds, or None."""
        return self.bond_list.kind

    @property
    def angle_kind(self) -> np.ndarray | None:
        """(k,) names of the kinds of angles, or None."""
        return self.angle_list.kind

    def with_bonds(self, bonds: BondedInteractions) -> "ParticleTable":
        """The same particles with other bonds; InputError as above."""
        return replace(self, bond_list=bonds)

    def location(self, row: int) -> str:
        """Position of a particle in the file, for messages."""
        return _location(self.source, self.lines, row)

    def _check_shapes(self, vectors: Mapping[str, np.ndarray]) -> None:
        n = len(self.id)
        if n == 0:
            raise InputError(f"{self.source}: no particles; there must be one or more")
        for name, values in vectors.items():
            if values.shape != (n, 3):
                raise InputError(
                    f"{self.source}: {name} has shape {values.shape}; for {n} particles it must be ({n}, 3)"
                )
        if self.kind is not None and len(self.kind) != n:
            raise InputError(f"{self.source}: {len(self.kind)} kinds for {n} particles; give one for each")

    def _check_ids(self) -> None:
        wrong = np.flatnonzero((self.id < 0) | (self.id > MAX_ID))
        if wrong.size:
            raise InputError(f"{self.location(wrong[0])}: the id is {self.id[wrong[0]]}; it must be from 0 to {MAX_ID}")
        order = np.argsort(self.id, kind="stable")
        twice = np.flatnonzero(self.id[order][1:] == self.id[order][:-1])
        if twice.size:
            first, second = order[twice[0]], order[twice[0] + 1]
            raise InputError(
                f"{self.location(second)}: the id {self.id[second]} is there already, at {self.location(first)}; each"
                " particle must have an id of its own"
            )

    def _check_interactions(self, what: str, listed: BondedInteractions) -> None:
        """Raise InputError for the first entry that names an unknown particle or one particle twice, or that is there
        already, from either end."""
        check_kinds(listed.kind, listed.location)
        unknown = np.flatnonzero(~np.isin(listed.ids, self.id).all(axis=1))
        if unknown.size:
            ends = listed.ids[unknown[0]]
            missing = ends[~np.isin(ends, self.id)][0]
            raise InputError(
                f"{listed.location(unknown[0])}: the {what} {_joined(ends)} names particle {missing}, which is not"
                f" among the {self.n_particles} particles of {self.source}; their ids are from {self.id.min()} to"
                f" {self.id.max()}"
            )
        ordered = np.sort(listed.ids, axis=1)
        own = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if own.size:
            ends = listed.ids[own[0]]
            raise InputError(
                f"{listed.location(own[0])}: the {what} {_joined(ends)} names a particle twice; it must join"
                f" {len(ends)} different ones"
            )
        is_turned = listed.ids[:, :1] > listed.ids[:, -1:]
        _, first = np.unique(np.where(is_turned, listed.ids[:, ::-1], listed.ids), axis=0, return_index=True)
        again = np.setdiff1d(np.arange(len(listed.ids)), first)
        if again.size:
            raise InputError(
                f"{listed.location(again[0])}: the {what} {_joined(listed.ids[again[0]])} is there already; each must"
                " be there once"
            )


def check_kinds(kind: np.ndarray | None, location) -> None:
    """Raise InputError for the first name of a kind that is no plain word; ``location(row)`` says where it stands."""
    for row, name in enumerate(() if kind is None else kind):
        if not KIND.fullmatch(name) or not name.isprintable():
            raise InputError(f"{location(row)}: the kind is {shown(str(name))}; it must be {KIND_WORDS}")


def _location(source: str, lines: Sequence[int] | None, row: int) -> str:
    return f"{source}, line {lines[row]}" if lines is not None else f"{source}, row {row}"


def _joined(ids: np.ndarray) -> str:
    return "-".join(map(str, ids.tolist()))


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Particles of one time step, in any order."""

    step: int  #: time step
    time_s: float  #: physical time [s]
    id: np.ndarray  #: (n,) integers, each once
    position_m: np.ndarray  #: (n, 3) positions [m]; wrapped into a periodic box or not, as the caller likes
    velocity_m_s: np.ndarray | None = None  #: (n, 3) velocities [m/s], or None
    kind: np.ndarray | None = None  #: (n,) numbers of the kinds, or None
    #: (m, 2) ids; a bond of a particle that is not here is not written
    bonds: np.ndarray = field(default_factory=lambda: NO_BONDS)
    scalars: Mapping[str, np.ndarray] = field(default_factory=dict)  #: further (n,) or (n, 3) values by name
