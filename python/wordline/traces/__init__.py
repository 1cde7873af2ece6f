"""Traces: description, conversion, and generation from statistics."""
