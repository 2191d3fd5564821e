"""Attention layers, and the recurrent decoder with attention."""
