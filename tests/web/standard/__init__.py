"""Tests of the standard streams: AG-UI and the AI SDK's UI message stream, encoders first, then real clients."""
