"""Tracers: points that move with the flow and diffuse. ``section`` holds their keys, ``species`` their start and
stages, ``walk`` the equations of a step, ``observers`` spreading and residence times."""
