"""Tests of the rules: for each one requests that it takes and requests that it refuses, with text, place and status."""
