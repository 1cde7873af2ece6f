"""Sweeps: one experiment at many points of a design space."""
