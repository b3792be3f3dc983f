"""Events to an EventBatch: the cells of each event."""
