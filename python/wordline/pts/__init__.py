"""Tests after the SNIA Solid State Storage Performance Test Specification 2.0 (PTS), on a simulated drive."""
