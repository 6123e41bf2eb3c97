"""Kernels: what they must return, and the records that their checks and benches leave."""
