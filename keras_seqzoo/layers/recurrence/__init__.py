"""Recurrent cells, the loops over time, and the layers."""
