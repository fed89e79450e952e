"""Porous images: preparation, and analysis of their pores. ``preparation`` crops, inverts, filters, mirrors and adds
reservoirs; ``pores`` finds connections and widths."""
