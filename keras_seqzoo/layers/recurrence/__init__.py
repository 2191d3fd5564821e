"""What runs a cell over time: cells, loops, and the layers made of them."""
