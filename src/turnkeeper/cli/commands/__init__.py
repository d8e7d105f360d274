"""The commands, one module each: options and help only, so that `--help` is quick; the work loads when one runs."""
