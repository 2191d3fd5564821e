"""Score terms, weightings and losses from the literature: prior assumptions about attention."""
