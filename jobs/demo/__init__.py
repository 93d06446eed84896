"""The example queries that `sluice init` puts into a project."""
