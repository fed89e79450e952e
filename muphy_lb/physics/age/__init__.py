"""The age of the fluid: how long ago it entered, as a physics package. ``section`` holds its keys, ``package`` its
scalar, ``observers`` the mean age at the end of a run."""
