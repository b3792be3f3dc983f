"""Arrow tables to an EventBatch, column by column."""
