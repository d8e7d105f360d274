"""Turnkeeper: multi-turn tool conversations with Claude that survive anything."""
