"""The topics that students search for, and the systems that answer them, the best first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_GPT = "gpt-2 decoder-only-block llama gemma mixtral deepseek"
_CNN = "lenet vgg resnet residual-block efficientnet convnext unet"
_LANGUAGE_MODELS = f"{_GPT} bert t5"

# Words that ask for the same: the names of systems.
_LINES = f"""
gpt, chatgpt, generative pretrained transformer, text generation, next word: {_GPT}
llm, large language model, language model, lm, foundation model: {_LANGUAGE_MODELS}
autoregressive, generation, chatbot: {_GPT}
decoding, greedy, beam search, beams, top k, top p, nucleus sampling, nucleus: sampling gpt-2
token, word embedding, token embedding, embedding, embedding layer, one hot, one hot encoding:
    tokenizer gpt-2 bert llama positional-embedding
tokenization, tokenisation, tokens, bpe, byte pair encoding, subword, vocabulary: tokenizer
sentencepiece, wordpiece, tiktoken, vocab size: tokenizer
masked language model: bert
transformer, attention is all you need:
    encoder-decoder encoder-block decoder-block decoder-only-block gpt-2 bert
encoder: encoder-block encoder-decoder bert
decoder: decoder-only-block decoder-block encoder-decoder
translation, machine translation: encoder-decoder t5 seq2seq-attention
attention: multi-head-attention scaled-dot-product-attention
self attention:
    multi-head-attention scaled-dot-product-attention encoder-block torch-multihead-attention
cross attention, encoder decoder attention: decoder-block encoder-decoder t5
multi head attention, mha: multi-head-attention torch-multihead-attention merged-qkv
causal, mask, masking, causal mask, masked attention: decoder-only-block multi-head-attention gpt-2
query key value, qkv, query, key, value:
    multi-head-attention merged-qkv scaled-dot-product-attention
gqa, mqa, grouped query attention, multi query attention: grouped-queries llama
mla, multi head latent attention: latent-attention deepseek
kv cache, key value cache, cache: decoder-only-block grouped-queries latent-attention llama
local attention, window attention, swa, longformer: sliding-window swin gemma
linear transformer, linear attention, rwkv, fast weights: linear-attention delta-rule
positional encoding, position encoding, position embedding, sinusoidal, positions:
    positional-embedding rotary
rope, rotary embedding: rotary llama
relative position, relative positions, position bias: t5 swin
softmax: scaled-dot-product-attention multi-head-attention
flash, flashattention, tiling, sram, gpu memory, memory hierarchy, roofline:
    flash-attention matrix-product fused-mlp streamed-norm
moe, expert, router, routing, sparse: mixture-of-experts mixtral deepseek
lora, fine tuning, finetuning, peft, low rank, adapter: lora
feed forward, ffn: pointwise-feed-forward encoder-block
mlp, multilayer perceptron, perceptron, neural network:
    image-recogniser mlp-geometry pointwise-feed-forward
linear layer, fully connected, dense, affine: image-recogniser mlp-geometry linear-algebra
activation, activation function, relu, gelu: elementwise mlp-geometry pointwise-feed-forward
swish, silu, glu, gated linear unit: swiglu llama
cnn, convnet, convolutional network, convolutional neural network: {_CNN} convolution
convolution, conv, filter, feature map, conv2d: convolution {_CNN}
receptive field, effective receptive field, field of view: receptive-field convolution {_CNN}
edge detection, sobel, blur, sharpen, image filter: convolution
kernel, kernel size: convolution lenet residual-block visual-attention convnext
stride, padding, output size: convolution residual-block identity-resnet lenet unet
dilation, dilated convolution, atrous, dilated: convolution receptive-field
groups, grouped convolution: convolution
pooling, max pooling, maxpool, pool, average pooling, subsampling, downsampling:
    pooling lenet unet identity-resnet
depthwise, depthwise convolution, pointwise convolution, 1x1 convolution, mobilenet, xception:
    depthwise-separable convolution efficientnet convnext
upsampling, transposed convolution, deconvolution, conv transpose: transposed-convolution unet
checkerboard, checkerboard artifacts, output padding, fractionally strided:
    transposed-convolution
cross entropy, loss, loss function, log loss, nll, negative log likelihood, logits, log softmax:
    cross-entropy autograd
label smoothing, distillation: cross-entropy
temperature: sampling cross-entropy
low precision, mixed precision, number format, half precision, bfloat16, float16, float8, tf32:
    low-precision
parallelism, tensor parallelism, data parallelism, sequence parallelism, sharding, shard, ddp:
    parallelism
megatron, gpu, gpus, several gpus, devices, all reduce, allreduce, all gather, nccl: parallelism
distributed training, distributed, communication: parallelism
amp, autocast, fp16, bf16, fp8, loss scale, loss scaling, gradscaler, underflow, overflow:
    low-precision
optimiser, optimizer, sgd, adam, adamw, momentum, muon, learning rate, gradient descent: optimisers
initialization, weight initialization, xavier, glorot, kaiming, he initialization: initialisation
vanishing gradient, exploding gradient, vanishing gradients, exploding gradients:
    initialisation resnet residual-block
vgg16, vgg19, vggnet, very deep convolutional networks: vgg
efficientnet, mbconv, inverted residual, mobilenetv2, compound scaling:
    efficientnet depthwise-separable
squeeze and excitation, se block, channel attention: efficientnet
resnet, residual network: resnet identity-resnet residual-block
residual, residual connection, skip connection, shortcut: residual-block resnet unet
skip: unet residual-block
bottleneck: resnet residual-block vae
batch norm, batchnorm, batch normalisation, batch normalization: batch-norm residual-block
layer norm, layernorm, layer normalisation, layer normalization: layer-norm encoder-block
rms norm, rmsnorm: streamed-norm llama
group norm, groupnorm: diffusion-unet
norm, normalisation, normalization: layer-norm batch-norm streamed-norm
dropout, train mode, eval mode: dropout batch-norm
regularisation, regularization, overfitting: dropout cross-entropy
image classification, classifier, classification, mnist, digits:
    image-recogniser lenet vgg identity-resnet vit convnext
computer vision, vision: lenet identity-resnet vit convnext
segmentation, semantic segmentation: unet
vision transformer, patch, patches: vit swin dit clip
clip, contrastive, contrastive learning, multimodal, zero shot: clip
autoencoder, latent space, latent variable, variational: vae
generative, generative model: vae diffusion-unet gpt-2
diffusion, ddpm, stable diffusion, denoising, noise: diffusion-unet dit
rnn, recurrent, recurrent neural network, recurrent network, hidden state: rnn lstm gru mamba
seq2seq, sequence to sequence, neural machine translation, nmt:
    seq2seq-attention encoder-decoder t5
alignment, additive attention, bahdanau, bahdanau attention: seq2seq-attention
long short term memory, gate, gating: lstm gru
ssm, state space, state space model, selective scan, s4, s6: mamba delta-rule linear-attention
gnn, graph neural network, message passing, graph: gcn gat
backprop, backpropagation, backward, gradient, autodiff, chain rule, computational graph: autograd
optimizer, gradient descent, sgd, training, loss: mlp-geometry image-recogniser autograd
einsum, contraction, tensor contraction: einsum-attention linear-algebra einops
matmul, matrix multiplication, gemm, dot product, linear algebra:
    linear-algebra matrix-product tensors
reshape, view, permute, transpose, rearrange, strides: einops memory-order
broadcast, broadcasting: broadcasting inner-broadcasting
indexing, gather, slicing: indexes subtensors
tensor, array, shape, shapes: tensors broadcasting einops
in context learning, induction head, interpretability: induction recall
nn.module, module, functional: module-or-function
"""


def _topics() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in _LINES.replace(":\n   ", ":").strip().splitlines():
        words, _, names = line.rpartition(": ")
        found |= {word: tuple(names.split()) for word in words.split(", ")}
    return found


TOPICS: Mapping[str, tuple[str, ...]] = MappingProxyType(_topics())


def topics(name: str) -> dict[str, int]:
    """Returns the topics that a system answers, with its place among the answers.

    >>> topics("lora")["fine tuning"], topics("llama")["llm"]
    (0, 2)
    """
    return {word: names.index(name) for word, names in TOPICS.items() if name in names}
