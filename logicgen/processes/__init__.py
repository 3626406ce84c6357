"""Work in processes that can be killed, on this machine or on a cluster."""
