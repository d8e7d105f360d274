"""What one support conversation costs with several libraries, by the simulator's ledger."""
