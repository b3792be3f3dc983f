"""The job that builds an index from a DataFrame of rules."""
