"""Training: learners, the training loop, optimizers, devices, and run folders."""
