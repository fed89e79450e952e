"""Porous images: what is done to them, and their pores."""
