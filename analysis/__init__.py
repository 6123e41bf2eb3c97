"""Readings: named numbers computed from a part's plan and data, and the verdict they lead to."""
