"""Reads and writes queries of Elasticsearch and OpenSearch."""
