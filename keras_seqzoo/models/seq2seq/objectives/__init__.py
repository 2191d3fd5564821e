"""What a translation model is trained for, other than the likelihood of the references."""
