"""The messages of torch about layers and shapes, each with what it means and what to look for."""

from __future__ import annotations

Messages = dict[str, tuple[str, str]]  # by a pattern: what it means, and what to look for
_LIST = r"(?:torch\.Size\()?\[(?P<{}>[\d, ]*)\]\)?"


def listed(name: str) -> str:
    """Returns the pattern of a list of sizes."""
    return _LIST.format(name)


LAYERS: Messages = {
    r"[Gg]iven groups=(?P<g>\d+), weight of size "
    + listed("w")
    + r", expected input ?"
    + listed("x")
    + r" to have (?P<c>\d+) channels, but got (?P<k>\d+)": (
        "The convolution takes {c} channels (its weight is [{w}]), but its input [{x}] has "
        "{k} in its channel dimension, the second.",
        "Look for its in_channels, which is to be {k}, or for an input whose channels stand "
        "last (permute(0, 3, 1, 2)) or are grey instead of coloured.",
    ),
    r"Expected (?P<a>[\w ()-]+?) input to (?P<f>\w+), but got input of size: " + listed("x"): (
        "{f} takes {a} arrays, such as batch, channels and sides, but its input is [{x}].",
        "Look for a missing batch (x.unsqueeze(0)), a missing channel (x.unsqueeze(1)), or a "
        "flatten that comes too early.",
    ),
    r"[Ee]xpected (?P<a>[\w ]+?D(?: or \w+D)?) input \(got (?P<b>\d)D input\)": (
        "The normalisation takes {a} arrays, but its input has {b} dimensions.",
        "Look for its kind, BatchNorm1d after a linear layer and BatchNorm2d after a "
        "convolution, or for a flatten.",
    ),
    r"Expected more than 1 value per channel when training, got input size " + listed("x"): (
        "A batch norm that learns takes its mean over the batch, and its input [{x}] has one "
        "number in each channel.",
        "Look for a batch of 1 (drop_last=True in the loader), or call model.eval() before "
        "you try one example.",
    ),
    r"running_mean should contain (?P<a>\d+) elements not (?P<b>\d+)": (
        "The batch norm is made for {b} channels, but its input has {a}.",
        "Look for its num_features, which is to be {a}: the number of channels that the layer"
        " before it gives.",
    ),
    r"Given normalized_shape=\[(?P<n>[\d, ]+)\], expected input with shape \[(?P<w>[^\]]*)\], but "
    r"got input of size ?" + listed("x"): (
        "The layer norm works on last dimensions of [{n}], but its input is [{x}].",
        "Look for the number in nn.LayerNorm, which is the last size of its input, or for "
        "channels that stand second and are to be moved last.",
    ),
    r"(?:Expected number of channels in input to be divisible by num_groups, but got input of "
    r"shape \[(?P<x>[\d, ]+)\] and num_groups=(?P<g>\d+))": (
        "A group norm shares its channels out among {g} groups, but the channels of its input"
        " [{x}] do not divide by {g}.",
        "Look for another num_groups, one that divides the channels.",
    ),
    r"num_channels (?:\(\d+\) )?must be divisible by num_groups": (
        "A group norm shares its channels out among its groups, so num_channels is a multiple"
        " of num_groups.",
        "Look for another number of groups, one that divides the channels.",
    ),
    r"(?P<s>in|out)_channels (?:\(\d+\) )?must be divisible by groups": (
        "A convolution with groups splits its {s}put channels among them, so {s}_channels is "
        "a multiple of groups.",
        "Look for the groups, or for a width that divides by them.",
    ),
    r"embed_dim must be divisible by num_heads": (
        "Each head takes an equal part of the features, so embed_dim is a multiple of num_heads.",
        "Look for a number of heads that divides the width.",
    ),
    r"Calculated padded input size per channel: \((?P<a>[\d x]+)\)\. Kernel size: \((?P<k>[\d x]+)"
    r"\)": (
        "A kernel of {k} slides over an input that is only {a} at that point, padding included.",
        "Look for a larger picture, one pooling or stride less, or padding in this layer.",
    ),
    r"Given input size: \((?P<a>[\dx]+)\)\. Calculated output size: \((?P<b>[\dx]+)\)": (
        "A pooling would make its input of {a} (channels × sides) {b}, with a side of 0.",
        "Look for a larger picture, one pooling or stride less, or AdaptiveAvgPool2d(1) at "
        "this place.",
    ),
    r"Padding size should be less than the corresponding input dimension": (
        "Reflected padding takes its numbers from the input, so the input is to be longer "
        "than the padding.",
        "Look for a larger input, a smaller padding, or the mode 'replicate'.",
    ),
    r"input\.size\(-1\) must be equal to input_size\. Expected (?P<a>\d+), got (?P<b>\d+)": (
        "The recurrent layer takes {a} features at each step, but the last size of its input "
        "is {b}.",
        "Look for its input_size, which is to be {b}, or for a step and a feature dimension "
        "that are swapped (batch_first=True takes batch, steps, features).",
    ),
    r"Expected hidden(?:\[\d\])? size \((?P<a>[\d, ]+)\), got " + listed("b"): (
        "The recurrent layer takes a first state of ({a}): layers × directions, batch, "
        "features; but it is given [{b}].",
        "Look for the order of these sizes, and for batch_first, which does not turn the "
        "state around: its batch stands second always.",
    ),
    r"was expecting embedding dimension of (?P<a>\d+), but got (?P<b>\d+)": (
        "The attention takes {a} features as the last size of its query, but the query has {b}.",
        "Look for its embed_dim, or for a linear layer before it that gives {a}.",
    ),
    r"(?P<n>[\d])D attn_mask is torch\.Size\(\[(?P<a>[\d, ]+)\]\), but should be "
    r"\((?P<b>[\d, ]+)\)": (
        "The mask is [{a}], but {b} is needed: queries × keys for two dimensions, and batch ·"
        " heads in front for three.",
        "Look for batch_first: without it the first size of the input is the steps, not the "
        "batch; what hides the padding, batch × keys, is key_padding_mask.",
    ),
    r"[Ee]xpect(?:ed|ing) `?key_padd(?:ing|ed)_mask\.shape(?:\[\d\])?`? "
    r"(?:to be|of) \(?(?P<b>[\d, ]+)\)?"
    r"(?:, but got \(?(?P<a>[\d, ]+))?": (
        "key_padding_mask is batch × keys, ({b}), True where a key is padding.",
        "Look for batch_first: without it torch takes the first size of the input as the "
        "steps and the second one as the batch.",
    ),
    r"the feature number of src and tgt must be equal to d_model|the batch number of src and tgt "
    r"must be equal": (
        "The transformer takes src and tgt with one batch, and with d_model as their last size.",
        "Look for batch_first=True (else the batch stands second), and for the embedding, "
        "which gives d_model features.",
    ),
}
SHAPES: Messages = {
    r"view size is not compatible with input tensor's size and stride": (
        "view only reads the same memory in another shape, and after a transpose or permute "
        "the numbers no longer lie in that order.",
        "Look for .view(…) at this line, and write .reshape(…), or .contiguous() before it.",
    ),
    r"shape '\[(?P<s>[-\d, ]+)\]' is invalid for input of size (?P<n>\d+)": (
        "The array holds {n} numbers, and these do not fill [{s}].",
        "Look for a size that is written out: x.flatten(1) or view(x.size(0), -1) keeps the "
        "batch, and finds the rest.",
    ),
    r"Sizes of tensors must match except in dimension (?P<d>\d+)\. (?:Expected size (?P<a>\d+) but "
    r"got size (?P<b>\d+)|Got (?P<c>\d+) and (?P<e>\d+))": (
        "cat joins arrays along dimension {d}, and all their other sizes are to be equal, but"
        " here {a}{c} meets {b}{e}.",
        "Look for a pooling that rounds an odd size down (a picture whose sides divide by all"
        " strides together, or padding), or for another dim.",
    ),
    r"stack expects each tensor to be equal size, but got \[(?P<a>[\d, ]*)\] at entry \d+ and "
    r"\[(?P<b>[\d, ]*)\]": (
        "stack makes a batch of arrays that have one shape, but [{a}] meets [{b}].",
        "Look for examples of different sizes: a Resize or a crop in the transforms, or "
        "padding in collate_fn.",
    ),
    r"Tensors must have same number of dimensions: got (?P<a>\d+) and (?P<b>\d+)": (
        "cat joins arrays of equally many dimensions, but one has {a} and the other {b}.",
        "Look for a missing unsqueeze, or for a squeeze() that takes away a batch of 1.",
    ),
    r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\) at "
    r"non-singleton dimension (?P<d>\d+)": (
        "Two arrays are added or compared number by number, and at dimension {d} one has {a} "
        "and the other {b}: sizes are to be equal, or one of them 1.",
        "Look for a skip connection whose layers change the size, positions for another "
        "length, or a missing unsqueeze.",
    ),
    r"The expanded size of the tensor \((?P<a>\d+)\) must match the existing size \((?P<b>\d+)\) "
    r"at non-singleton dimension (?P<d>\d+)": (
        "expand repeats only a size of 1, but dimension {d} is {b} and is to become {a}.",
        "Look for a mask or a buffer that is made for another length.",
    ),
    r"output with shape \[(?P<a>[\d, ]*)\] doesn't match the broadcast shape \[(?P<b>[\d, ]*)\]": (
        "A result of [{b}] is to be stored in an array of [{a}], which cannot grow.",
        "Look for += or another operation in place, and write x = x + y; or for a Normalize "
        "with three channels on a grey picture.",
    ),
    r"Expected size for first two dimensions of batch2 tensor to be: \[(?P<a>[\d, ]+)\] but got: "
    r"\[(?P<b>[\d, ]+)\]": (
        "A product for each of a batch takes [{a}] as the first two sizes of its second "
        "array, but gets [{b}].",
        "Look for a missing transpose(-2, -1), or for heads that are on one side only.",
    ),
    r"einsum\(\): subscript (?P<i>\w) has size (?P<a>\d+) for operand (?P<o>\d+) which does not "
    r"broadcast with previously seen size (?P<b>\d+)": (
        "The letter {i} is one size everywhere, but it is {b} first and {a} in operand {o}, "
        "counted from 0.",
        "Look for letters in another order than the array's dimensions.",
    ),
    r"size mismatch, got input \((?P<x>\d+)\), mat \((?P<a>\d+)x(?P<b>\d+)\), vec \((?P<v>\d+)\)": (
        "A matrix of {a} × {b} takes a vector of {b}, but this one has {v}.",
        "Look for the in_features of the layer, or for a transpose.",
    ),
    r"Dimension out of range \(expected to be in range of \[(?P<a>-?\d+), (?P<b>-?\d+)\], but got "
    r"(?P<d>-?\d+)\)": (
        "The array's dimensions are {a} to {b}, and {d} is asked for, so it has fewer than "
        "was thought.",
        "Look for a squeeze() or an index that has taken one away, or for a missing batch.",
    ),
    r"number of dimensions in the tensor input does not match the length of the desired ordering "
    r"of dimensions i\.e\. input\.dim\(\) = (?P<a>\d+) is not equal to len\(dims\) = (?P<b>\d+)": (
        "permute names every dimension once, and names {b}, but the array has {a}.",
        "Look for a missing batch (unsqueeze(0)), or for a layer that takes one away.",
    ),
    r"split_with_sizes expects split_sizes to sum exactly to (?P<a>\d+)": (
        "The parts of split are to add up to {a}, the whole size of that dimension.",
        "Look for the width of the layer before, such as 3 · width for queries, keys and values.",
    ),
    r"not enough values to unpack \(expected (?P<a>\d+), got (?P<b>\d+)\)": (
        "{a} names stand before the =, but there are only {b} values.",
        "Look for b, c, h, w = x.shape where x has {b} dimensions, or for a layer that gives "
        "fewer results.",
    ),
    r"too many values to unpack \(expected (?P<a>\d+)\)": (
        "Only {a} names stand before the =, but there are more values.",
        "Look for b, t, c = x.shape where x has more dimensions, or for a layer that gives "
        "more results, such as an LSTM.",
    ),
    r"selected index k out of range": (
        "topk is asked for more numbers than the dimension has.",
        "Look for k, which is at most that size, and for the dim that it works on.",
    ),
}
