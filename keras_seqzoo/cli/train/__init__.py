"""The commands `seqzoo train ...`."""
