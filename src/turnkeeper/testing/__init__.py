"""Parts for users' tests: the simulator in-process, scripts, fixed clock and ids."""
