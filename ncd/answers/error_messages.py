"""Messages of torch that people paste: what they mean, what their numbers are, what to look for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isqrt, prod

# --- The messages of torch about layers and shapes, each with what it means and what to look for

Messages = dict[str, tuple[str, str]]  # by a pattern: what it means, and what to look for
_LIST = r"(?:torch\.Size\()?\[(?P<{}>[\d, ]*)\]\)?"


def size_list_pattern(name: str) -> str:
    """Returns the pattern of a list of sizes."""
    return _LIST.format(name)


LAYERS: Messages = {
    r"[Gg]iven groups=(?P<g>\d+), weight of size "
    + size_list_pattern("w")
    + r", expected input ?"
    + size_list_pattern("x")
    + r" to have (?P<c>\d+) channels, but got (?P<k>\d+)": (
        "The convolution takes {c} channels (its weight is [{w}]), but its input [{x}] has "
        "{k} in its channel dimension, the second.",
        "Look for its in_channels, which is to be {k}, or for an input whose channels stand "
        "last (permute(0, 3, 1, 2)) or are grey instead of coloured.",
    ),
    r"Expected (?P<a>[\w ()-]+?) input to (?P<f>\w+), but got input of size: "
    + size_list_pattern("x"): (
        "{f} takes {a} arrays, such as batch, channels and sides, but its input is [{x}].",
        "Look for a missing batch (x.unsqueeze(0)), a missing channel (x.unsqueeze(1)), or a "
        "flatten that comes too early.",
    ),
    r"[Ee]xpected (?P<a>[\w ]+?D(?: or \w+D)?) input \(got (?P<b>\d)D input\)": (
        "The normalisation takes {a} arrays, but its input has {b} dimensions.",
        "Look for its kind, BatchNorm1d after a linear layer and BatchNorm2d after a "
        "convolution, or for a flatten.",
    ),
    r"Expected more than 1 value per channel when training, got input size "
    + size_list_pattern("x"): (
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
    r"got input of size ?" + size_list_pattern("x"): (
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
    r"Expected hidden(?:\[\d\])? size \((?P<a>[\d, ]+)\), got " + size_list_pattern("b"): (
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
    r"Class values must be smaller than num_classes": (
        "one_hot is given a number that is not below num_classes: its classes are 0 to "
        "num_classes - 1.",
        "Look for the largest number (x.max()), or leave num_classes out, which then is that "
        "number + 1.",
    ),
    r"Class values must be non-negative": (
        "one_hot is given a negative number: its classes are 0 to num_classes - 1.",
        "Look for labels such as -1 or -100 that mean no class, and mask them before.",
    ),
    r"selected index k out of range": (
        "topk is asked for more numbers than the dimension has.",
        "Look for k, which is at most that size, and for the dim that it works on.",
    ),
}


# --- The messages of torch about losses, numbers, training and files, and the table of all

LOSSES: Messages = {
    r"index out of range in self|srcIndex < srcSelectDimSize": (
        "An embedding is asked for a row that its table does not have: its indices are 0 to "
        "num_embeddings - 1.",
        "Look for the largest index (x.max()): a vocabulary counted without its special "
        "tokens, or more positions than max_len.",
    ),
    r"Target (?P<t>-?\d+) is out of bounds|t >= 0 && t < n_classes|Assertion `?cur_target >= 0": (
        "The classes of a loss are 0 to n - 1, where n is the last layer's size, but a target"
        " is {t} outside of it.",
        "Look for labels that begin with 1 (subtract 1), and for the out_features of the last"
        " layer.",
    ),
    r"device-side assert triggered": (
        "A check on the GPU has failed, mostly an index of an embedding or a target of a loss"
        " that is too large.",
        "Look for it on the CPU, where the message names the number; the line that is shown "
        "may be a later one.",
    ),
    r"Expected input batch_size \((?P<a>\d+)\) to match target batch_size \((?P<b>\d+)\)": (
        "The loss gets scores for {a} examples, and targets for {b}.",
        "Look for a view or flatten that mixes the batch with other sizes, such as view(-1, "
        "n) where flatten(1) is meant.",
    ),
    r"0D or 1D target tensor expected, multi-target not supported|multi-target not supported": (
        "This loss takes one class number for each example, but the target has two dimensions.",
        "Look for targets of (batch, 1), which want squeeze(1), or one-hot rows, which want "
        "argmax(1) or real numbers.",
    ),
    r"Expected target size \[(?P<a>[\d, ]+)\], got \[(?P<b>[\d, ]+)\]": (
        "Scores of more than two dimensions have their classes second, so the target is to be"
        " [{a}], but it is [{b}].",
        "Look for scores with the classes last: scores.transpose(1, 2), or both flattened to "
        "(batch · steps, classes).",
    ),
    r"[Tt]arget size \(?torch\.Size\(\[(?P<a>[\d, ]*)\]\)\)? (?:must be the same as|that is "
    r"different to the) input size \(?torch\.Size\(\[(?P<b>[\d, ]*)\]\)": (
        "This loss compares number by number, but the output is [{b}] and the target [{a}]; "
        "broadcast, they would give every pair.",
        "Look for a last size of 1: output.squeeze(1), or target.unsqueeze(1).",
    ),
    r"all elements of (?:input|target) should be between 0 and 1": (
        "Binary cross-entropy takes probabilities, numbers from 0 to 1.",
        "Look for a missing sigmoid (or take BCEWithLogitsLoss), and for targets that are no "
        "0 or 1.",
    ),
}
NUMBERS: Messages = {
    r"Input type \((?P<a>[\w.]+)\) and (?:weight|bias) type \((?P<b>[\w.]+)\) should be the same": (
        "The layer's weights are {b}, but its input is {a}.",
        "Look for a model or a batch that is not moved (x.to(device), model.to(device)), or "
        "numbers that numpy made double (x.float()).",
    ),
    r"mat1 and mat2 must have the same dtype, but got (?P<a>\w+) and (?P<b>\w+)": (
        "A layer multiplies numbers of one format, but its input is {a} and its weight {b}.",
        "Look for arrays of numpy, which are double (x.float()), whole numbers, or a model in"
        " half precision.",
    ),
    r"one of the following scalar types: Long, Int; but got (?P<a>[\w.]+) instead": (
        "An embedding looks its rows up by whole numbers, but gets {a}.",
        "Look for x.long(), or for an input that was made by randn where randint is meant.",
    ),
    r"expected (?:scalar type|target dtype to be) (?P<a>[\w ]+?),? but (?:found|got) "
    r"(?P<b>\w+)": (
        "This operation takes numbers of format {a}, but finds {b}.",
        "Look for targets of cross-entropy or indices (.long()), or for arrays of numpy, "
        "which are double (.float()).",
    ),
    r"result type (?P<a>\w+) can't be cast to the desired output type (?P<b>\w+)": (
        "A result of format {a} is to be stored in an array of {b}, in place.",
        "Look for += or another operation in place, or for targets that are to be real (.float()).",
    ),
    r"not implemented for '(?P<a>\w+)'": (
        "This function has no code for numbers of format {a}.",
        "Look for whole numbers that are to be real (.float()), real targets that are to be "
        "class numbers (.long()), or half precision on a CPU.",
    ),
    r"Expected all tensors to be on the same device, but (?:found at least two devices, "
    r"(?P<a>[\w:]+) and (?P<b>[\w:]+)|.*?(?P<c>cuda[\w:]*|cpu))": (
        "Two arrays lie on different devices, {a}{c} and {b}, and torch moves nothing by itself.",
        "Look for an array that forward makes (torch.zeros(…, device=x.device)), a layer in a"
        " plain list (nn.ModuleList), or a batch without .to(device).",
    ),
    r"out of memory": (
        "The arrays that are kept for the backward pass do not fit in the memory of the GPU.",
        "Look for a smaller batch, torch.no_grad() in evaluation, and losses that are added "
        "up without .item().",
    ),
    r"only (?:one element|integer|size-1).*tensors?.* can be converted to": (
        "A single number is wanted here, but the array has more or is real.",
        "Look for a loss that is not reduced (.mean()), or a size that is computed by / "
        "instead of //.",
    ),
}
TRAINING: Messages = {
    r"modified by an inplace operation: \[(?P<t>[\w. ]+) ?\[(?P<x>[\d, ]*)\]\],? which is output "
    r"\d+ of (?P<f>\w+)": (
        "The backward pass needs the [{x}] that {f} made, and it was changed in place afterwards.",
        "Look for +=, x[…] = … or inplace=True behind it, and write x = x + y; or for an "
        "optimizer's step between forward and backward.",
    ),
    r"modified by an inplace operation": (
        "The backward pass needs an array that was changed in place after it was made.",
        "Look for +=, x[…] = … or inplace=True, and write x = x + y.",
    ),
    r"leaf [Vv]ariable that requires grad is being used in an in-place operation": (
        "A parameter is changed in place while gradients are recorded.",
        "Look for the line that sets it, and put it under with torch.no_grad():.",
    ),
    r"backward through the graph a second time": (
        "The arrays of a forward pass are freed by backward, and a second one would need them.",
        "Look for a state that is carried from batch to batch (h = h.detach()), or a loss "
        "that is used twice.",
    ),
    r"does not require grad and does not have a grad_fn": (
        "The loss does not depend on any parameter in a way that has a gradient.",
        "Look for torch.no_grad(), .detach(), argmax, or torch.tensor(…) around a result.",
    ),
    r"grad can be implicitly created only for scalar outputs": (
        "backward begins at one number, but the loss is an array.",
        "Look for reduction='none', and take loss.mean() or loss.sum().",
    ),
    r"optimizer got an empty parameter list": (
        "The model has no parameters that the optimizer can see.",
        "Look for layers in a plain list (nn.ModuleList), or layers made outside of __init__.",
    ),
    r"cannot assign module before Module\.__init__\(\) call": (
        "A layer is set before the module has been begun.",
        "Look for super().__init__(), which is the first line of __init__.",
    ),
    r"is missing the required \"forward\" function": (
        "The module has no forward, so that a call does nothing.",
        "Look for its name and its indentation: inside of the class, beside __init__.",
    ),
    r"forward\(\) missing (?P<n>\d+) required positional arguments?: (?P<a>.+?)(?: \(|$)": (
        "The call of the model lacks {n} of the inputs that forward takes: {a}.",
        "Look for the call, or for an nn.Sequential, which hands on one array only.",
    ),
    r"forward\(\) takes (?P<a>\d+) positional arguments? but (?P<b>\d+) (?:were|was) given": (
        "forward takes {a} arguments, self included, but the call gives {b}.",
        "Look for the call, or for a * before a list.",
    ),
    r"'tuple' object has no attribute '(?P<a>\w+)'": (
        "A tuple of results is used as if it were an array.",
        "Look for an LSTM, a GRU or an attention, which give several: out, state = layer(x).",
    ),
    r"'NoneType' object has no attribute '(?P<a>\w+)'": (
        "A value is None where {a} is asked for.",
        "Look for a forward without return, or an argument that is left out.",
    ),
}
STATES: Messages = {
    r"size mismatch for (?P<n>[\w.]+): copying a param with shape "
    + size_list_pattern("a")
    + r" from checkpoint, the shape in current model is "
    + size_list_pattern("b"): (
        "The file holds {n} as [{a}], but the model has it as [{b}].",
        "Look for other sizes (mostly the number of classes), and leave this layer out of the"
        " file's dictionary.",
    ),
    r'Missing key\(s\) in state_dict: "(?P<a>[^"]+)".*Unexpected key\(s\) in state_dict: '
    r'"(?P<b>[^"]+)"': (
        "The model looks for {a}, and the file holds {b}: their layers have other names.",
        "Look for a prefix: 'module.' of DataParallel, 'model.' of Lightning, or '_orig_mod.'"
        " of torch.compile, to be taken off every key.",
    ),
    r'Missing key\(s\) in state_dict: "(?P<a>[^"]+)"': (
        "The model has {a}, and the file has not: it was written by a model without this layer.",
        "Look for the version of the class, or for settings that add layers.",
    ),
    r'Unexpected key\(s\) in state_dict: "(?P<b>[^"]+)"': (
        "The file holds {b}, and the model has no such layer.",
        "Look for a file that is a whole checkpoint, state = file['state_dict'], or for a "
        "model made with other settings.",
    ),
}
MESSAGES = tuple(  # the first one that is found in a text counts
    (re.compile(pattern), *words)
    for table in (STATES, LAYERS, LOSSES, NUMBERS, SHAPES, TRAINING)
    for pattern, words in table.items()
)


# --- Explains a pasted traceback or error message of torch: what its numbers are, what to look for

TRACEBACK_LINE = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+).*\n\s+(?P<code>\S.*)')
CELL = re.compile(r"^-+> *(?P<line>\d+) +(?P<code>\S.*)", re.M)  # of a notebook
LIBRARIES = ("site-packages", "dist-packages", "/lib/python", "<frozen", "<__array_function__")
NUMBER = re.compile(r"\d{4,}")
LONGEST_SIZE = 15  # digits of a size
PRODUCT = re.compile(
    r"mat1 and mat2 shapes cannot be multiplied \((?P<a>\d+)x(?P<b>\d+) and (?P<c>\d+)x(?P<d>\d+)\)"
    r"|a and b must have same reduction dim, but got \[(?P<a2>\d+), (?P<b2>\d+)\] X "
    r"\[(?P<c2>\d+), (?P<d2>\d+)\]"
    r"|size mismatch, m1: \[(?P<a3>\d+) x (?P<b3>\d+)\], m2: \[(?P<c3>\d+) x (?P<d3>\d+)\]"
)
CURE = "the class that fails, with its call as the last line"
LONGEST = 10_000  # letters that are looked through, at the beginning and at the end
CODE = 60  # letters of a line of the traceback
CHANNELS = (512, 256, 128, 64, 32, 16)


def explain(text: str) -> str | None:
    """Returns what an error message of torch means, and what to look for.

    Args:
        text: A traceback, or its last line alone.

    Returns:
        Two sentences, the line at which it stops, and a request for the class; None for a message
        that is not known.

    Source: the messages of torch 1.0 to 2.13.

    >>> words = explain("RuntimeError: mat1 and mat2 shapes cannot be multiplied "
    ...                 "(64x9216 and 400x120)")
    >>> print(words.partition(".")[0])
    The layer takes 400 numbers and gives 120, but each of its 64 rows holds 9,216
    >>> explain("nn.Linear(8, 3)") is None
    True
    """
    text = text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]}\n{text[-LONGEST:]}"
    fact, search = _meaning(text)
    return f"{fact} {search}{_place(text)} Try {CURE}." if fact else None


def first_words(message: str) -> str:
    """Returns what a message of torch means, without what to look for; empty if it is not known.

    >>> first_words("mat1 and mat2 shapes cannot be multiplied (64x9216 and 400x120)")
    'The layer takes 400 numbers and gives 120, but each of its 64 rows holds 9,216.'
    """
    return _meaning(message)[0]


def _meaning(text: str) -> tuple[str, str]:
    """Returns what a message means, and what to look for; empty for one that is not known."""
    flat = " ".join(text.split())
    return _product(flat) or _message_meaning(flat) or ("", "")


def _message_meaning(text: str) -> tuple[str, str] | None:
    """Returns what the first known message in a text means; the table's order decides."""
    for pattern, fact, search in MESSAGES:
        if found := pattern.search(text):
            given = {name: _with_commas(value or "") for name, value in found.groupdict().items()}
            return fact.format(**given), search.format(**given)
    return None


def _with_commas(value: str) -> str:
    """Returns a part of a message; a number of four digits or more has commas.

    >>> _with_commas("9216"), _with_commas("[64, 1024]")
    ('9,216', '[64, 1,024]')
    """
    value = value if len(value) <= CODE else f"{value[:CODE]}…"
    return NUMBER.sub(lambda digits: f"{int(digits[0]):,}", value)


def _product(text: str) -> tuple[str, str] | None:
    """Returns what a product of matrices means whose sizes do not meet."""
    found = PRODUCT.search(text)
    sizes = [value for value in found.groups() if value is not None] if found else []
    if not sizes or max(map(len, sizes)) > LONGEST_SIZE:
        return None
    given = [int(value) for value in sizes]
    rows, width, takes, gives = given
    fact = (
        f"The layer takes {takes:,} numbers and gives {gives:,}, but each of its {rows:,} rows "
        f"holds {width:,}."
    )
    search = f"Look for nn.Linear({takes}, {gives}): "
    whole = rows * width
    if width and takes and takes % width == 0 and whole % takes == 0:
        parts = f"{takes:,} = {takes // width:,} × {width:,}"
        return fact, f"{search}{parts}, so a flatten(1) before it is probably missing."
    if rows == takes:
        return (
            fact,
            f"{search}the array has {takes:,} as its first size, so it is probably transposed.",
        )
    return (
        fact,
        f"{search}either it becomes nn.Linear({width}, {gives}), or "
        f"{_width_mismatch_cause(width, takes)}.",
    )


def _width_mismatch_cause(width: int, takes: int) -> str:
    """Returns what may be wrong before a linear layer, by what a picture's sizes multiply to.

    >>> _width_mismatch_cause(9216, 400)
    'what stands before it has other sizes than was thought (9,216 = 16·24·24, 400 = 16·5·5)'
    """
    both = next((c for c in CHANNELS if _picture(width, (c,)) and _picture(takes, (c,))), 0)
    channels = (both,) if both else CHANNELS  # the same ones, if the sides alone may differ
    parts = [f"{n:,} = {found}" for n in (width, takes) if (found := _picture(n, channels))]
    return f"what stands before it has other sizes than was thought{_in_brackets(parts)}"


def _in_brackets(parts: list[str]) -> str:
    return f" ({', '.join(parts)})" if parts else ""


def _picture(n: int, known: Sequence[int]) -> str:
    """Returns a number as one of some channels times a square, if it is one; else an empty text."""
    for channels in known:
        side = isqrt(n // channels)
        if n == prod((channels, side, side)) and 1 < side < 64:
            return f"{channels}·{side}·{side}"
    return ""


def _place(text: str) -> str:
    """Returns a sentence with the last line of a traceback that is the visitor's own."""
    called = [one for one in TRACEBACK_LINE.finditer(text) if not _is_library(one["file"])]
    last = called[-1] if called else next(iter([*CELL.finditer(text)][-1:]), None)
    if last is None:
        return ""
    code = last["code"].strip()
    code = code if len(code) <= CODE else f"{code[:CODE]}…"
    return f" It stops at line {last['line'][:9]}: {code}."


def _is_library(file: str) -> bool:
    return any(part in file for part in LIBRARIES)
