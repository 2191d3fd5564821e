"""Common features of all commands: help, errors, configurations, and lazy import."""
