"""Openings of vessels: carved by planes, detected automatically, drawn for inspection."""
