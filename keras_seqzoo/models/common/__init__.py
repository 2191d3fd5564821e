"""Parts that the families of models share."""
