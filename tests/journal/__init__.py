"""The journal: one contract for memory, SQLite and PostgreSQL, and what is particular to databases."""
