"""Events to an EventBatch, which has the cells of each event."""
