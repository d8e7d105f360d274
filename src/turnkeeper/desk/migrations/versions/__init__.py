"""The revisions, oldest first; `schema.VERSIONS` has a line for each."""

__all__: tuple[str, ...] = ()
