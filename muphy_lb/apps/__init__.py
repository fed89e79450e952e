"""apps: applications of the solver that run flows of their own."""
