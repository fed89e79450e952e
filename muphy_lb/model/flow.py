"""Flow: the flow of a case on one rank, as physics packages extend it in turn before it becomes a model."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.lattice import Lattice
from muphy_lb.model.action import Action
from muphy_lb.model.isothermal import Fluid, isothermal
from muphy_lb.model.model import Field, FieldValue, Model, ParticleSet, PartlyFilled, Stage, Value, Where
from muphy_lb.operators import MOMENTUM_FIELDS, OPEN, Observer, Operator, sum_of_forces, where_fluid
from muphy_lb.operators.darcy import RATES
from muphy_lb.operators.observers import combined


class Clash(ValueError):
    """Something that two physics declare differently, as the end of a sentence about the second one."""


@dataclass(frozen=True)
class Flow:
    """The components of a model."""

    lattice: Lattice  #: velocity set
    fluid: Fluid  #: the collision
    streaming: str  #: name of the streaming scheme
    force: Operator  #: body force of the fluid, an operator
    #: values of all parameters of force, observers and extensions of the collision, by name
    parameters: Mapping[str, Value]
    #: (n,) number of the wall in which a local node lies, -1 in the fluid; None if all are fluid
    solid: np.ndarray | None = None
    name: str = "isothermal"  #: of the model
    has_drag: bool = False  #: whether there is a porous medium
    has_gaps: bool = False  #: whether walls that cut links leave gaps between them and the voxels
    stride: int = 1  #: steps of the flow that a step of what it carries takes; more than 1 in a frozen flow alone
    observers: tuple[Observer, ...] = ()  #: store values of every node before its collision
    #: functions that wrap the composed collision, such as :func:`muphy_lb.operators.followed_by`
    extensions: tuple[Callable[[Operator], Operator], ...] = ()
    written: tuple[str, ...] = ()  #: names of fields that these write
    #: fields, before, between, after, frozen, particles, actions, occupied, bulk, costs, filled, closed: as of
    #: :class:`muphy_lb.model.model.Model`
    fields: tuple[Field, ...] = ()
    before: tuple[Stage, ...] = ()
    between: tuple[Stage, ...] = ()
    after: tuple[Stage, ...] = ()
    frozen: tuple[Stage, ...] = ()
    particles: tuple[ParticleSet, ...] = ()
    actions: tuple[Action, ...] = ()
    occupied: str = ""
    bulk: Where | None = None
    costs: Mapping[int, float] = field(default_factory=dict)
    #: function that makes the model's ``counted`` of the moments of nodes with fluid
    counted: Callable[[Operator], Operator] | None = None
    filled: PartlyFilled | None = None
    closed: Operator = OPEN

    def pushed_by(self, force: Operator, parameters: Mapping[str, Value]) -> "Flow":
        """The flow with a further body force."""
        return replace(self, force=sum_of_forces(self.force, force)).given(parameters)

    def dragged_by(self, rates: Iterable[Field]) -> "Flow":
        """The flow with the drag of a porous medium (:mod:`muphy_lb.operators.darcy`), of ``RATES`` in fields."""
        momentum = (Field(name, is_state=axis < self.lattice.dimension) for axis, name in enumerate(MOMENTUM_FIELDS))
        given = {name: FieldValue(name) for name in (*RATES, *MOMENTUM_FIELDS)}
        flow = replace(self, has_drag=True, written=(*self.written, *MOMENTUM_FIELDS))
        return flow.with_fields(*rates, *momentum).given(given)

    def observed_by(self, observer: Observer, parameters: Mapping[str, Value]) -> "Flow":
        """The flow with an observer, which several physics may request."""
        observers = dict.fromkeys((*self.observers, observer))
        return replace(self, observers=tuple(observers)).given(parameters)

    def with_collision(
        self, extension: Callable[[Operator], Operator], parameters: Mapping[str, Value], writes: tuple[str, ...] = ()
    ) -> "Flow":
        """The flow with a function that wraps its collision, and the names of the fields that the wrapped one
        writes."""
        extensions, written = (*self.extensions, extension), (*self.written, *writes)
        return replace(self, extensions=extensions, written=written).given(parameters)

    def given(self, parameters: Mapping[str, Value]) -> "Flow":
        """The flow with further values of parameters. Raises Clash: a parameter already has another value."""
        for name in parameters.keys() & self.parameters.keys():
            if parameters[name] is not self.parameters[name] and parameters[name] != self.parameters[name]:
                raise Clash(f"gives the parameter {name!r} another value")
        return replace(self, parameters={**self.parameters, **parameters})

    def with_fields(self, *fields: Field) -> "Flow":
        """The flow with further fields, equal ones once. Raises Clash: two fields of one name differ."""
        known = {each.name: each for each in self.fields}
        for each in fields:
            if known.setdefault(each.name, each) != each:
                raise Clash(f"declares the field {each.name!r} otherwise")
        return replace(self, fields=tuple(known.values()))

    def with_stages(self, before=(), between=(), after=()) -> "Flow":
        """The flow with further stages after those that it already has at that point of a step."""
        return replace(
            self,
            before=(*self.before, *before),
            between=(*self.between, *between),
            after=(*self.after, *after),
        )

    def with_particles(self, *sets: ParticleSet) -> "Flow":
        """The flow with further sets of particles."""
        return replace(self, particles=(*self.particles, *sets))

    def with_actions(self, *actions: Action) -> "Flow":
        """The flow with further actions between steps."""
        return replace(self, actions=(*self.actions, *actions))

    def extended(self, name: str, extend: Callable[["Flow"], "Flow"]) -> "Flow":
        """The flow with a further physics of this name, as ``extend`` adds it. Raises InputError: it writes a field
        that a physics before it writes, too, or declares one otherwise."""
        try:
            flow = extend(self)
        except Clash as clash:
            raise InputError(f"[{name}] {clash} than another physics of the case; keep one of them") from clash
        new = (flow.before[len(self.before) :], flow.between[len(self.between) :], flow.after[len(self.after) :])
        added = _written(chain(*new), flow.written[len(self.written) :])
        both = added & _written(chain(self.before, self.between, self.after), self.written)
        if both:
            raise InputError(
                f"[{name}] writes {', '.join(sorted(both))}, which another physics of the case writes, too; keep one of"
                " them, or give what they compute names of its own"
            )
        return flow

    def model(self) -> Model:
        """The model. Raises InputError: unknown streaming."""
        observer = reduce(combined, self.observers) if self.observers else None
        flow = self.lattice, self.fluid, self.streaming, self.parameters, self.force
        model = isothermal(*flow, observer, self.has_drag)
        collision = model.collision
        for extension in self.extensions:
            collision = extension(collision)
        given = (self.parameters[each.name] for observing in self.observers for each in observing.parameters)
        model = replace(
            model,
            name=self.name,
            collision=collision,
            fields=self.fields,
            stored=tuple(
                dict.fromkeys((*(each.field for each in given if isinstance(each, FieldValue)), *self.written))
            ),
            before=self.before,
            between=self.between,
            after=self.after,
            frozen=self.frozen,
            particles=self.particles,
            actions=self.actions,
            closed=self.closed,
        )
        return self._partly_filled(model) if self.occupied else model

    def _partly_filled(self, model: Model) -> Model:
        moments = where_fluid(model.macroscopic, self.occupied)
        counted = self.counted(moments) if self.counted else moments
        own = {each.name: FieldValue(each.name) for each in counted.parameters if each.name not in model.parameters}
        return replace(
            model,
            macroscopic=moments,
            occupied=self.occupied,
            bulk=self.bulk,
            costs=self.costs,
            counted=counted,
            filled=self.filled,
            parameters={**model.parameters, **own},
        )


def _written(stages: Iterable[Stage], by_collision: tuple[str, ...]) -> set[str]:
    return {name for stage in stages for name in stage.writes} | set(by_collision)
