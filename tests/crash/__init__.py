"""The crash matrix: a conversation killed at every point, brought to its end, and judged. `script/crash-matrix`."""
