"""Commands that ask a model on a server instead of loading one."""
