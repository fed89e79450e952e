"""Advice on a case: whether its flow will be stable, what to expect of it, and what it will cost. ``stability`` names
causes and remedies, ``plausibility`` values of unusual size, sound and resolution, ``expected_pressures`` flow rates
and pressures at openings, ``costs`` memory and time."""
