"""One folder per job on Spark."""
