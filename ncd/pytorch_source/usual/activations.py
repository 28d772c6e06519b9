"""Activations by their names, as in transformers, and layers of parallel libraries: as sources."""

from __future__ import annotations

ACTIVATIONS = """
ACT2CLS = {
    "relu": nn.ReLU, "gelu": nn.GELU, "gelu_tanh": lambda: nn.GELU(approximate="tanh"),
    "silu": nn.SiLU, "swish": nn.SiLU,
    "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "mish": nn.Mish, "elu": nn.ELU,
    "leaky_relu": nn.LeakyReLU, "hard_swish": nn.Hardswish, "hard_sigmoid": nn.Hardsigmoid,
    "gelu_new": lambda: nn.GELU(approximate="tanh"), "relu6": nn.ReLU6, "prelu": nn.PReLU,
}
ACT2FN = {name: kind() for name, kind in ACT2CLS.items()}
ACT2FN["gelu_pytorch_tanh"] = nn.GELU(approximate="tanh")

def activation_class(name):
    kinds = {key.replace("_", ""): kind for key, kind in ACT2CLS.items()}
    return kinds[name.lower().replace("_", "")]

def get_activation(name):
    return activation_class(name)()
"""
PARALLEL = """
class ColumnParallelLinear(nn.Linear):
    def __init__(self, in_features, out_features, bias=True, **named):
        super().__init__(in_features, out_features, bias=bias)

class RowParallelLinear(ColumnParallelLinear):
    pass

class VocabParallelEmbedding(nn.Embedding):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, **named):
        super().__init__(num_embeddings, embedding_dim, padding_idx=padding_idx)

class ParallelEmbedding(VocabParallelEmbedding):
    pass

def get_model_parallel_world_size():
    return 1

def get_model_parallel_rank():
    return 0
"""
