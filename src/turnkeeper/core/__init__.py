"""The pure heart: events, states, the tables, the history. No I/O, no clock, no randomness."""
