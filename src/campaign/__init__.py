"""Campaign: carries a measurement campaign from question to published, dated progress note."""
