"""Tests of the catalogue of models."""
