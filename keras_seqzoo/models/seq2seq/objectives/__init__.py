"""Training objectives of translation models other than the likelihood of the references."""
