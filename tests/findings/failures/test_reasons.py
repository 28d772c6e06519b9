"""Why a call, a layer or a line fails, in whole sentences, of one reading and without its cures."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from ncd.findings.failures.explanation import explanation
from ncd.findings.failures.failure import failure_of
from ncd.findings.reading.source_trace import SourceTrace

ONE = (
    ("x = torch.randn(2, 3, 4)\nx.view((2, 5))",
     "2 × 3 × 4 has 24 numbers, but 2 · 5 = 10 are asked for."),
    ("x = torch.randn(2, 3, 4)\nx.view([4, -1, 5])",
     "2 × 3 × 4 has 24 numbers, which is no multiple of 20, the product of the sizes asked for."),
    ("x = torch.randn(2, 3, 4)\nx.view(0, -1)",
     "2 × 3 × 4 has 24 numbers, which is no multiple of 0, the product of the sizes asked for."),
    ("x = torch.randn(2, 3, 4)\nx.view(-1, 5)",
     "2 × 3 × 4 has 24 numbers, which is no multiple of 5, the product of the sizes asked for."),
    ("F.cross_entropy(torch.randn(4, 3), torch.randn(4))",
     "the target of classes has to be whole numbers: .long()."),
    ("F.cross_entropy(torch.randn(4, 3), torch.ones(4, 3).long())",
     "scores of 4 × 3 (batch, classes …) take a target of 4 whole numbers, or probabilities of 4 × 3; it is 4 × 3."),
    ("F.cross_entropy(torch.randn(4, 3, 5), torch.zeros(4, 3).long())",
     "scores of 4 × 3 × 5 (batch, classes …) take a target of 4 × 5 whole numbers, or probabilities of 4 × 3 × 5; it is 4 × 3."),
    ("F.nll_loss(torch.randn(4, 3), torch.zeros(5).long())",
     "scores of 4 × 3 (batch, classes …) take a target of 4 whole numbers, or probabilities of 4 × 3; it is 5."),
    ("F.cross_entropy(torch.randn(3), torch.zeros(2).long())",
     "scores of 3 (classes …) take a target of one whole number, or probabilities of 3; it is 2."),
    ("F.cross_entropy(torch.randn(4, 3), torch.randint(0, 5, (4,)))",
     "there are 3 classes, 0 to 2 (the features of the input, line 1), but a target may be 4."),
    ("F.cross_entropy(torch.randn(3), torch.randint(0, 5, ()))",
     "there are 3 classes, 0 to 2 (the features of the input, line 1), but a target may be 4."),
    ("F.linear(torch.randn(2, 3), torch.randn(5, 4))",
     "the array has 3 features (the features of the input, line 1); the weights take 4 (the features of the input, line 1)."),
    ("F.linear(torch.randn(2, 4), torch.randn(5, 4), torch.randn(6))",
     "2 × 4, 5 × 4 and 6 do not fit: 5 (the batch of the input, line 1) and 6 (the features of the input, line 1) must be equal."),
    ("F.scaled_dot_product_attention(torch.randn(1, 8, 5, 4), torch.randn(1, 3, 5, 4), torch.randn(1, 3, 5, 4))",
     "query, key and value are 1 × 8 × 5 × 4, 1 × 3 × 5 × 4, 1 × 3 × 5 × 4; 8 (the channels of the input, line 1) and 3 (the channels of the input, line 1) must be equal."),
    ("x = torch.randn(2, 3, 4)\nx.permute(0, 3)",
     "2 × 3 × 4 has no axis 3; its axes are 0 to 2, or -3 to -1 from the last."),
    ("torch.randn(2, 3) @ torch.tensor(3.)",
     "one of the two is a single number, and has no axis to sum over."),
    ("torch.randn(5, 2, 3) @ torch.randn(4, 3, 2)",
     "5 × 2 × 3 times 4 × 3 × 2: 5 (the batch of the input, line 1) and 4 (the batch of the input, line 1) do not meet."),
    ("torch.randn(6, 5, 2, 3) @ torch.randn(4, 5, 3, 2)",
     "6 × 5 × 2 × 3 times 4 × 5 × 3 × 2: 6 (the batch of the input, line 1) and 4 (the batch of the input, line 1) do not meet."),
    ("torch.mv(torch.randn(2, 3), torch.randn(2))",
     "2 × 3 times 2: the last axis of the first (3 (the features of the input, line 1)) must equal the last but one of the second (2 (the features of the input, line 1))."),
    ("torch.cat([torch.randn(2, 3), torch.randn(2, 3, 4)])",
     "the arrays have 2 and 3 axes: 2 × 3 and 2 × 3 × 4."),
    ("torch.cat([torch.randn(2, 3, 4), torch.randn(2, 5, 4)], -1)",
     "2 × 3 × 4 and 2 × 5 × 4 must be equal in all axes but axis 2; axis 1 has 3 (the length of the input, line 1) and 5 (the length of the input, line 1)."),
    ("torch.cat([torch.randn(2, 3), torch.randn(2, 4), torch.randn(2, 5), torch.randn(2, 6)], axis=0)",
     "2 × 3, 2 × 4 and 2 × 5 must be equal in all axes but axis 0; axis 1 has 3 (the features of the input, line 1) and 4 (the features of the input, line 1)."),
    ("torch.stack([torch.randn(2, 3), torch.randn(2, 4)], 1)",
     "2 × 3 and 2 × 4 must be equal in all axes; axis 1 has 3 (the features of the input, line 1) and 4 (the features of the input, line 1)."),
    ("torch.randn(2, 3, 4, 5, 6, 7, 8, 9) + torch.randn(2, 3, 4, 5, 6, 7, 5, 9)",
     "2 × 3 × 4 × 5 × 6 × 7 × 8 × 9 and 2 × 3 × 4 × 5 × 6 × 7 × 5 × 9 do not meet: in the 7th axis one has 8 (the size of the input, line 1) and the other 5 (the size of the input, line 1), and neither is 1."),
    ("torch.randn(2, 3, 4, 5, 6, 7, 8) + torch.randn(2, 3, 4, 5, 6, 2, 8)",
     "2 × 3 × 4 × 5 × 6 × 7 × 8 and 2 × 3 × 4 × 5 × 6 × 2 × 8 do not meet: in the sixth axis one has 7 (the size of the input, line 1) and the other 2 (the size of the input, line 1), and neither is 1."),
    ("torch.randn(2, 3, 4) - torch.randn(5, 4)",
     "2 × 3 × 4 and 5 × 4 do not meet: in the second axis one has 3 (the length of the input, line 1) and the other 5 (the batch of the input, line 1), and neither is 1."),
    ("torch.randn(2, 3, 4) * torch.randn(3, 3, 4)",
     "2 × 3 × 4 and 3 × 3 × 4 do not meet: in the first axis one has 2 (the batch of the input, line 1) and the other 3 (the batch of the input, line 1), and neither is 1."),
    ("torch.einsum('ij, jk', torch.randn(2, 3), torch.randn(4))",
     "`jk` names 2 axes, but operand 2 has 4."),
    ("torch.einsum('...i,ij,jk->...k', torch.randn(2, 3), torch.randn(3, 4), torch.randn(5, 2))",
     "j is 4 (the features of the input, line 1) in operand 2 (`ij`) and 5 (the batch of the input, line 1) in operand 3 (`jk`)."),
    ("torch.randn(2, 3).expand(4, 2, 6)",
     "2 × 3 cannot be expanded so: 6 (line 1) and 3 (the features of the input, line 1) must be equal."),
    ("nn.MultiheadAttention(8, 2)(torch.randn(5, 3, 8), torch.randn(4, 3, 8), torch.randn(4, 3, 8), attn_mask=torch.zeros(5, 5))",
     "MultiheadAttention gets an attn_mask of 5 × 5; it takes 5 × 4 (queries, keys) for all, or 6 × 5 × 4 (batch 3 · heads 2, queries, keys)."),
    ("nn.MultiheadAttention(8, 2)(torch.randn(5, 3, 8), torch.randn(4, 3, 8), torch.randn(4, 3, 8), key_padding_mask=torch.zeros(3, 5))",
     "MultiheadAttention gets a key_padding_mask of 3 × 5; it takes 3 × 4 (batch, keys)."),
    ("nn.MultiheadAttention(8, 2)(torch.randn(5, 3, 8), torch.randn(4, 3, 8), torch.randn(4, 3, 8), key_padding_mask=torch.zeros(3, 4), attn_mask=torch.zeros(3, 5, 4))",
     "MultiheadAttention gets an attn_mask of 3 × 5 × 4; it takes 5 × 4 (queries, keys) for all, or 6 × 5 × 4 (batch 3 · heads 2, queries, keys)."),
    ("nn.MultiheadAttention(8, 2)(torch.randn(5, 8), torch.randn(4, 8), torch.randn(4, 8), attn_mask=torch.zeros(5, 5))",
     "MultiheadAttention gets an attn_mask of 5 × 5; it takes 5 × 4 (queries, keys) for all, or 2 × 5 × 4 (batch 1 · heads 2, queries, keys)."),
    ("nn.MultiheadAttention(8, 2, batch_first=True)(torch.randn(3, 5, 8), torch.randn(4, 5, 8), torch.randn(4, 5, 8))",
     "MultiheadAttention takes (batch, length, features), so that 3 × 5 × 8 has a batch of 3 and 4 × 5 × 8 one of 4; their other axis is 5 in both: batch_first is the other way round."),
    ("nn.MultiheadAttention(8, 2)(torch.randn(5, 3, 8), torch.randn(5, 4, 8), torch.randn(5, 4, 8))",
     "MultiheadAttention takes (length, batch, features), so that 5 × 3 × 8 has a batch of 3 and 5 × 4 × 8 one of 4; their other axis is 5 in both: batch_first is the other way round."),
    ("nn.MultiheadAttention(8, 2)(torch.randn(3, 5, 8), torch.randn(4, 6, 8), torch.randn(4, 6, 8))",
     "MultiheadAttention takes (length, batch, features), so that 3 × 5 × 8 has a batch of 5 and 4 × 6 × 8 one of 6."),
    ("nn.MultiheadAttention(8, 2, vdim=4)(torch.randn(3, 5, 8), torch.randn(3, 5, 8), torch.randn(3, 5, 6))",
     "MultiheadAttention gets a value of 6 features (the features of the input, line 1); it takes 4."),
    ("nn.AvgPool1d(4)(torch.randn(1, 2, 3))",
     "AvgPool1d has a kernel of 4, but its input is only 3."),
    ("nn.MaxPool3d(2)(torch.randn(1, 2, 3, 1, 4))",
     "MaxPool3d has a kernel of 2 × 2 × 2, but its input is only 3 × 1 × 4."),
    ("nn.MaxPool2d(4)(torch.randn(2, 3, 3))",
     "MaxPool2d has a kernel of 4 × 4, but its input is only 3 × 3."),
    ("nn.SyncBatchNorm(4)(torch.randn(2, 5, 3))",
     "SyncBatchNorm gets 5 channels (the channels of the input, line 1): batch 2, channels 5, length 3; it takes 4 (num_features, line 1)."),
    ("nn.ConvTranspose2d(3, 2, 3)(torch.randn(1, 2, 4, 4))",
     "ConvTranspose2d gets 2 channels (the channels of the input, line 1): batch 1, channels 2, height 4, width 4; it takes 3 (in_channels, line 1)."),
    ("nn.Conv3d(2, 1, 3)(torch.randn(3, 4))",
     "Conv3d takes batch × channels × depth × height × width, but gets an array of 2 axes (3 × 4)."),
    ("nn.Conv1d(3, 8, 2)(torch.randn(5, 3))",
     "Conv1d gets 5 channels (the batch of the input, line 1): channels 5, length 3; it takes 3 (in_channels, line 1). The last axis has 3: the channels stand last, not first."),
    ("nn.Sequential(nn.Linear(3, 4), F.relu)",
     "`nn.Sequential(nn.Linear(3, 4), F.relu)` cannot be made: relu is no layer, and its parts are layers."),
    ("nn.Sequential(nn.Linear(3, 4), nn.ReLU)",
     "`nn.Sequential(nn.Linear(3, 4), nn.ReLU)` cannot be made: ReLU is a class; ReLU() makes the layer."),
    ("nn.BatchNorm1d(4)(torch.randn(1, 4, 1))",
     "BatchNorm1d learns from the mean and the variance of each channel over the batch, but gets 1 × 4 × 1: one value a channel, which has no variance. In training the batch has to be 2 or more; eval() uses the statistics that it keeps."),
    ("nn.BatchNorm3d(4)(torch.randn(1, 5, 1, 2, 3))",
     "BatchNorm3d gets 5 channels (the channels of the input, line 1): batch 1, channels 5, depth 1, height 2, width 3; it takes 4 (num_features, line 1)."),
    ("nn.InstanceNorm1d(4, affine=True)(torch.randn(2, 5, 3))",
     "InstanceNorm1d gets 5 channels (the channels of the input, line 1): batch 2, channels 5, length 3; it takes 4 (num_features, line 1)."),
    ("nn.LSTM(8, 5, 2, bidirectional=True)(torch.randn(7, 2, 8), (torch.zeros(3, 2, 5), torch.zeros(3, 2, 5)))",
     "LSTM reads 7 × 2 × 8 (steps, batch, features), so its first state has to be 4 × 2 × 5 (layers · directions, batch, hidden), but it is 3 × 2 × 5."),
    ("nn.LSTM(8, 5, proj_size=3)(torch.randn(7, 8), (torch.zeros(1, 5), torch.zeros(1, 5)))",
     "LSTM reads 7 × 8 (steps, features), so its first state has to be 1 × 3 (layers · directions, hidden), but it is 1 × 5."),
    ("nn.GRU(8, 5, batch_first=True)(torch.randn(2, 7, 8), torch.zeros(1, 7, 5))",
     "GRU reads 2 × 7 × 8 (batch, steps, features), so its first state has to be 1 × 2 × 5 (layers · directions, batch, hidden), but it is 1 × 7 × 5."),
    ("nn.GRUCell(8, 5)(torch.randn(8), torch.zeros(6))",
     "GRUCell reads 8 (features), so its first state has to be 5 (hidden), but it is 6."),
    ("nn.RNN(8, 5)(torch.ones(7, 8).long())",
     "RNN takes real numbers, but its array (7 × 8) holds whole ones."),
    ("nn.EmbeddingBag(5, 3)(torch.randn(2, 4))",
     "EmbeddingBag takes whole numbers (rows of its table), but its array (2 × 4) holds real ones."),
    ("nn.Embedding(5, 3)(torch.arange(6))",
     "Embedding has 5 rows, 0 to 4 (num_embeddings, line 1), but is asked for row 5."),
    ("nn.Embedding(5, 3)(torch.arange(2, 7)[None])",
     "Embedding has 5 rows, 0 to 4 (num_embeddings, line 1), but is asked for row 6."),
    ("nn.Embedding(5, 3)(torch.randint(9, (2, 2)).view(4))",
     "Embedding has 5 rows, 0 to 4 (num_embeddings, line 1), but is asked for row 8."),
    ("nn.Embedding(5, 3)(torch.randint(high=9, size=(2, 2)))",
     "Embedding has 5 rows, 0 to 4 (num_embeddings, line 1), but is asked for row 8."),
    ("nn.Embedding(5, 3)(torch.arange(end=7))",
     "Embedding has 5 rows, 0 to 4 (num_embeddings, line 1), but is asked for row 6."),
    ("x = torch.randn(2, 3, 4)\nrearrange(x, 'b (h w) c d -> b h w c d', h=2)",
     "the pattern names 4 axes, but the array has 2 × 3 × 4."),
    ("x = torch.randn(2, 15, 4)\nrearrange(x, 'b (h w) c -> b h w c', h=4)",
     "(h w) is 15 (the length of the input, line 1), which is not divisible by h = 4."),
    ("x = torch.randn(2, 15, 4)\nrearrange(x, 'b (h w) c -> b h w c', h=4, w=3)",
     "(h w) is 15 (the length of the input, line 1), which is not h = 4 · w = 3."),
    ("x = torch.randn(2, 15, 4)\nrearrange(x, 'b (h w) c -> b h w c', h=3, w=5, c=5)",
     "c is 4 (the features of the input, line 1), which is not c = 5."),
    ("x = torch.randn(2, 15, 4)\nreduce(x, 'b (h w) c -> b h c', 'mean', w=2)",
     "(h w) is 15 (the length of the input, line 1), which is not divisible by w = 2."),
    ("x = torch.randn(2, 15, 4)\nrearrange(x, '... (h w) -> ... h w', h=3)",
     "2 × 15 × 4 does not fit: 4 (the features of the input, line 1) and 3 (from features, line 1; h, line 2) must be equal."),
    ("q = torch.randn(2, 4, 5, 8)\nF.scaled_dot_product_attention(q, q, q, torch.zeros(2, 5))",
     "query, key and value are 2 × 4 × 5 × 8, 2 × 4 × 5 × 8, 2 × 4 × 5 × 8; the mask is 2 × 5, and does not meet the scores of 2 × 4 × 5 × 5 (batch, heads, queries, keys)."),
    ("q = torch.randn(2, 5, 8)\nF.scaled_dot_product_attention(q, q, q, attn_mask=torch.zeros(3, 5, 5))",
     "query, key and value are 2 × 5 × 8, 2 × 5 × 8, 2 × 5 × 8; the mask is 3 × 5 × 5, and does not meet the scores of 2 × 5 × 5 (batch, queries, keys)."),
    ("q = torch.randn(5, 8)\nF.scaled_dot_product_attention(q, q, q, attn_mask=torch.zeros(5, 4))",
     "query, key and value are 5 × 8, 5 × 8, 5 × 8; the mask is 5 × 4, and does not meet the scores of 5 × 5 (queries, keys)."),
    ("torch.randn(2, 3).split([1, 1], 1)",
     "2 × 3 cannot be split so: 3 (the features of the input, line 1) and 2 must be equal."),
    ("torch.randn(2, 3)[:, :, 0]",
     "2 × 3 does not fit: too many indices for tensor of dimension 2."),
    ("torch.take(torch.randn(2, 3), torch.tensor([9]))",
     "there are 6 numbers, 0 to 5 (batch 2 · features 3), but 9 is asked for."),
    ("torch.where(torch.randn(2, 3) > 0, torch.randn(2, 3), torch.randn(4))",
     "2 × 3, 2 × 3 and 4 do not fit: 3 (the features of the input, line 1) and 4 (the features of the input, line 1) must be equal."),
    ("torch.randn(2, 3).masked_fill(torch.ones(2) > 0, 0)",
     "2 × 3 and 2 do not meet: in the last axis one has 3 (the features of the input, line 1) and the other 2 (the features of the input, line 1), and neither is 1."),
    ("F.binary_cross_entropy(torch.rand(4, 1), torch.rand(4))",
     "the prediction is 4 × 1 and the target 4."),
    ("nn.Conv2d(3, 4, 3, padding='same', stride=2)",
     "`nn.Conv2d(3, 4, 3, padding='same', stride=2)` cannot be made: padding='same' is not supported for strided convolutions; 2 (stride, line 1) and 1 must be equal."),
    ("nn.Linear(-3, 4)",
     "`nn.Linear(-3, 4)` cannot be made: Trying to create tensor with negative dimension -3: [4, -3]."),
    ("nn.Linear(3, 4)(torch.ones(2, 3).long())",
     "Linear takes real numbers, but its array (2 × 3) holds whole ones."),
    ("nn.Conv1d(3, 4, 1)(torch.ones(2, 3, 5).long())",
     "Conv1d takes real numbers, but its array (2 × 3 × 5) holds whole ones."),
    ("nn.LSTM(3, 4)(torch.ones(2, 5, 3).double())",
     "LSTM gets an array (2 × 5 × 3) of float64 beside weights of float32; one format is needed."),
)  # fmt: skip
INSIDE = (
    ("", "a, b = x.shape", "3, 2, 4",
     "`a, b`: 3 values for 2 names, as the array has as many axes."),
    ("", "assert x.size(1) == 3, 'three'", "3, 2, 4",
     "`assert x.size(1) == 3, 'three'` does not hold: 2 (the length of the input, line 7) and 3 (line 6) must be equal."),
    ("", "assert x.size(1) % 3 == 0", "3, 2, 4",
     "`assert x.size(1) % 3 == 0` does not hold: 2 (the length of the input, line 7) is not divisible by 3 (line 6)."),
    ("", "if x.shape[1] != 3: raise ValueError(f'{x.shape}!')", "3, 2, 4",
     "`raise ValueError(f'{x.shape}!')`: ([3, 2, 4]); 2 (the length of the input, line 7) and 3 (line 6) must be equal."),
    ("", "if x.shape[1] != 3: raise ValueError(f'{x.shape}')", "1, 2, 1, 2, 1, 2, 1, 2, 1, 3, 5, 7",
     "`raise ValueError(f'{x.shape}')`: ([1, 2, 1, 2, 1, 2, 1, 2, 1, 3, 5, 7]); 2 (the size of the input, line 7) and 3 (line 6) must be equal."),
    ("", "[3][1] * x", "3, 2, 4",
     "`[3][1]`: list index out of range."),
    ("f = nn.MultiheadAttention(6, 4)", "x", "2",
     "f (`nn.MultiheadAttention(6, 4)`) cannot be made: 6 (embed_dim, line 4) is not divisible by 4 (num_heads, line 4), its heads."),
    ("f = nn.Conv2d(8, 6, 3, groups=4)", "x", "2",
     "f (`nn.Conv2d(8, 6, 3, groups=4)`) cannot be made: 6 (out_channels, line 4) is not divisible by 4 (groups, line 4), its groups."),
    ("f = nn.Linear(3, 4)", "self.f(x.flatten(1))", "2, 3, 4, 5",
     "f (Linear) gets 60 features: 3 channels · 4 · 5, flattened by `x.flatten(1)` on line 6; it takes 3 (in_features, line 4)."),
    ("f = nn.Linear(3, 4)", "self.f(x.flatten(1).relu())", "2, 3, 5",
     "f (Linear) gets 15 features: 3 channels · 5, flattened by `x.flatten(1)` on line 6; it takes 3 (in_features, line 4)."),
    ("f = nn.Linear(3, 4)", "self.f(x.view(6, -1))", "2, 3, 5",
     "f (Linear) gets 5 features (the features of the input, line 7); it takes 3 (in_features, line 4)."),
    ("f = nn.Linear(3, 4)", "self.f(x.reshape(30))", "2, 3, 5",
     "f (Linear) gets 30 features: 2 · 3 · 5, flattened by `x.reshape(30)` on line 6; it takes 3 (in_features, line 4)."),
    ("f = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(3, 4))", "self.f(x)", "2, 1, 4, 5",
     "f.2 (Linear) gets 12 features: 2 channels · 2 · 3, flattened by the Flatten before it; it takes 3 (in_features, line 4)."),
    ("f = nn.Sequential(nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(1, 2, 3))", "self.f(x)", "2, 1, 4, 8",
     "f.2 (Conv2d) has a kernel of 3 × 3, but its input is only 2 × 4 (height: 4 → 2)."),
    ("h = 6", "assert x.repeat(1, self.h, 1).size(1) == self.h * 7", "3, 2, 4",
     "`assert x.repeat(1, self.h, 1).size(1) == self.h * 7` does not hold: 2 (the length of the input, line 7) and 7 (line 6) must be equal."),
    ("h = 6", "assert x.size(1) * self.h == self.h", "3, 2, 4",
     "`assert x.size(1) * self.h == self.h` does not hold: 12 (h 6 · length 2) and 6 (h, line 4) must be equal."),
    ("h = 6", "assert x.size(1) + self.h == self.h * 7", "3, 2, 4",
     "`assert x.size(1) + self.h == self.h * 7` does not hold: 8 (from h, line 4; length, line 7) and 42 (h 6 · 7) must be equal."),
    ("", "assert x.size(1) > 3", "3, 2, 4",
     "`assert x.size(1) > 3` does not hold: 3 (line 6) is more than 2 (the length of the input, line 7)."),
    ("h = 6", "assert x.size(1) <= self.h - 5", "3, 2, 4",
     "`assert x.size(1) <= self.h - 5` does not hold: 2 (the length of the input, line 7) is more than 1 (from h, line 4; line 6)."),
    ("", "assert x.size(1) < 2", "3, 2, 4",
     "`assert x.size(1) < 2` does not hold: 2 (line 6) is not more than 2 (the length of the input, line 7)."),
    ("", "assert x.size(1) != 2", "3, 2, 4",
     "`assert x.size(1) != 2` does not hold."),
    ("h = 6", "assert x.size(2) // self.h * self.h == x.size(2)", "3, 2, 4",
     "`assert x.size(2) // self.h * self.h == x.size(2)` does not hold: 4 (the features of the input, line 7) is not divisible by 6 (h, line 4)."),
    ("", "assert x.size(1) == 3 or x.size(2) == 5", "3, 2, 4",
     "`assert x.size(1) == 3 or x.size(2) == 5` does not hold: 4 (the features of the input, line 7) and 5 (line 6) must be equal."),
)  # fmt: skip
CLASS = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {}
    def forward(self, x):
        {}
Net()(torch.randn({}))"""


def reason(text: str, symbolic: bool = True) -> str:
    failure = failure_of(SourceTrace(text, symbolic).read())
    assert failure is not None
    return explanation(failure)


@pytest.mark.parametrize(("text", "says"), ONE, ids=[c[0] for c in ONE])
def test_a_line_says_what_does_not_fit(text: str, says: str) -> None:
    line = text.split("\n")[-1]
    shown = line if len(line) <= 60 else f"{line[:59]}…"
    layer = "nn." in text
    assert reason(text) == (says if layer else f"`{shown}`: {says}")


@pytest.mark.parametrize(("init", "forward", "shape", "says"), INSIDE, ids=[c[1] for c in INSIDE])
def test_a_line_of_a_class_says_what_does_not_fit(init, forward, shape, says) -> None:
    plain = forward.startswith(("a, b", "assert", "if"))
    row = forward if plain else f"return {forward}"
    assert reason(CLASS.format(f"self.{init}" if init else "pass", row, shape)) == says


def test_a_view_of_moved_axes_is_told_from_one_of_another_count() -> None:
    text = "x = torch.randn(2, 3, 4)\nx.transpose(0, 1).view(6, 4)"
    moved = "does not lie in memory as a view needs it, as its axes were moved"
    call = "`x.transpose(0, 1).view(6, 4)`"
    assert reason(text, False) == f"{call}: 3 × 2 × 4 {moved}; reshape copies where it has to."
