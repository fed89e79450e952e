"""Advice on a case: whether its flow will be stable, what to expect of it, and what it will cost."""
