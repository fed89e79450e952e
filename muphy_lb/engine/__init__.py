"""engine: a model bound to one rank's nodes and device; it advances time steps."""
