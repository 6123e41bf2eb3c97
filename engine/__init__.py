"""Served rows: the plan that orders them and the records that they leave."""
