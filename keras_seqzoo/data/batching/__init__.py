"""Ids, in memory and in files, to batches of an epoch."""
