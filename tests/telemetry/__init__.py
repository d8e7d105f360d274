"""Tests of telemetry, with the SDK's in-memory exporters."""
