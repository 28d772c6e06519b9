"""The messages of torch about losses, numbers, training and files, and the table of all."""

from __future__ import annotations

import re

from ncd.answers.shape_messages import LAYERS, SHAPES, Messages, listed

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
    + listed("a")
    + r" from checkpoint, the shape in current model is "
    + listed("b"): (
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
