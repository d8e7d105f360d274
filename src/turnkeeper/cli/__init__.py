"""The terminal's door: `turnkeeper ask`, `chat`, `desk`, `show` and the rest. Each part loads when its command runs."""
