"""Jobs: long computations in a pool of workers, with a queue, so that no page waits.

The workers are processes of this machine or, where ``NCD_RAY`` gives the address of a cluster,
actors of Ray. Both run the same :func:`ncd.jobs.worker.work`, so the results are the same.
"""
