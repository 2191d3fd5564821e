"""Batches of an epoch from ids in memory or in files."""
