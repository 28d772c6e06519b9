"""Jobs: long computations in a pool of workers, with a queue, so that no page waits."""
