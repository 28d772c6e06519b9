"""Jobs: what takes long is done by a pool of workers, in a queue, and holds no page.

The workers are processes of this machine or, where ``NCD_RAY`` gives the address of a cluster,
actors of Ray. Both run the same :func:`ncd.jobs.worker.work`, so what comes of it is the same.
"""
