"""Attacks: hostile input in numbers, drawn from a seed, against every door."""
