"""The Messages API over the official SDK: its authentication, transports and errors, our bytes."""
