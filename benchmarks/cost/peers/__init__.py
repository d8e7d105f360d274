"""One program per library; each needs nothing but its library and `benchmarks.cost.story`."""
