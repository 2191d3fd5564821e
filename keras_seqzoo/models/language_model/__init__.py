"""Language models: n-gram, log-linear, feed-forward and recurrent models, and mixtures."""
