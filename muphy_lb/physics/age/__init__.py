"""The age of the fluid: how long ago it entered, as a physics package."""
