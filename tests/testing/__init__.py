"""Tests of turnkeeper.testing."""
