"""Attacks on the desk and on the engine beneath it, by a model that always obeys the attacker."""
