"""The job that counts what events are like."""
