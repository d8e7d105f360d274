"""Tests of the tools part, through `turnkeeper.tools`."""
