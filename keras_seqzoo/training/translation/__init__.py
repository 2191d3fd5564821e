"""Training of translation models: options, new models, corpora and runs."""
