"""What all tests share."""

import torch

# Two threads that wait for each other are slow on a machine that does other work as well.
torch.set_num_threads(1)
