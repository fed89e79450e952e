"""references: published numbers and analytic solutions that validation cases compare with.

Nothing here knows the solver. Lengths, times and velocities are in whatever consistent units the caller uses; a flow
is driven by an acceleration (body force per mass, or pressure gradient over density). Numbers that could not be read in
a source, only remembered, are marked as such: they may stand in a report, but no verdict should hang on them.
"""
