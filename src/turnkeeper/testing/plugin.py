"""The pytest plugin: Turnkeeper's test parts as fixtures."""
