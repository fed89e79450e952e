"""The equations of fluctuating flow."""
