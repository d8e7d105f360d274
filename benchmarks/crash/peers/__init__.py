"""One program per library. Each uses nothing of this project but `benchmarks.crash.story`, and runs in its own venv."""
