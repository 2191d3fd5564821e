"""Score terms, weightings and losses from the literature: what attention is expected to be."""
