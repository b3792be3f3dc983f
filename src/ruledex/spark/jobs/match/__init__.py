"""The job that matches events, in batch and in streams."""
