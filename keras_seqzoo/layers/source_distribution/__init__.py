"""Output distributions that the attended source tokens contribute to: copying and lexicons."""
