"""Whether it can be trusted: suites, gates and their outcomes."""
