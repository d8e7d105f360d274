"""Tests of the web door."""
