"""The job that compares an index with the reference evaluator and with Spark SQL."""
