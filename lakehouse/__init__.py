"""Where things are: Delta tables, ingest, reading by arrival, state, ledger."""
