"""The loop at work: performs what the core decides, records what happened."""
