"""The job that collects statistics of events."""
