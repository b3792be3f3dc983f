"""Compiled loops over arrays. Only numpy and numba are imported here."""
