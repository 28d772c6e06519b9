"""Training: a task for each trainable system, one loop for all, and no page needed."""
