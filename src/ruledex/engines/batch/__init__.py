"""The engine `batch`: 512 events at a time, one bit per event."""
