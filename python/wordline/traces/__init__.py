"""Traces on the way in and out: what is in one, and how one is written from another or from statistics."""
