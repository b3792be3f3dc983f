"""The language of rules: text and JSON to tree and back, functions, schema, and the reference evaluator."""
