"""The Messages API as shapes and bytes: JSON text, server-sent events, replies, blocks. Pure: no I/O."""
