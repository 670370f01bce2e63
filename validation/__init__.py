"""Comparisons with published data that is not shipped with the library."""
