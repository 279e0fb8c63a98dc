"""How good a job's result is, told by comparing it with what people wrote down that it must find."""
