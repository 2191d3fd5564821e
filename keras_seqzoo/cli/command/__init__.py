"""What all commands have: help, errors, configurations, and an import when they run."""
