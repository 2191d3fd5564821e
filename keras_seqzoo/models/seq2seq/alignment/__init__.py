"""Word alignments by attention, lexicons, and the use of alignments made elsewhere."""
