"""The tasks of the benchmark, one a module."""
