"""How much processor time a conversation costs with Turnkeeper, beside loops written by hand."""
