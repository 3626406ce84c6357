"""Run functions in worker processes that can be killed, on this machine or on a Ray cluster."""
