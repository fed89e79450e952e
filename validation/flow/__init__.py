"""Validation cases of flow."""
