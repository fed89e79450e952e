"""Porous images: preparation, and analysis of their pores."""
