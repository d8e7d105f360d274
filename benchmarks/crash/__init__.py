"""One conversation, killed at the same points, in Turnkeeper and in other libraries: `python -m benchmarks.crash`."""
