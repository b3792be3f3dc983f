"""The job that compares two versions of an index on past events."""
