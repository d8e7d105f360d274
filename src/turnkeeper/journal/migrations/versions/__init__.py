"""The revisions, oldest first by their number."""

__all__: tuple[str, ...] = ()
