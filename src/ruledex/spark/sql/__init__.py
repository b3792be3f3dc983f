"""An index in SQL: functions that match what a query gives them, and a data source."""
