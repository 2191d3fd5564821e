"""Words aligned by attention, lexicons, and what alignments of others become."""
