"""Language models: recurrent ones, those of fixed context, and mixtures of them."""
