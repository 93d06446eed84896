"""What things are: streams, queries, windows and tables. Plain Python, no Spark."""
