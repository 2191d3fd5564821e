"""Training of text classifiers: their models and their runs."""
