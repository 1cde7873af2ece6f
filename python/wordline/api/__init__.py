"""The Python interface: drives, workloads, runs, tables, and the commands as functions."""
