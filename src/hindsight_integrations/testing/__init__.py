"""Shipped for users and backends: contract suites, doubles and strategies."""
