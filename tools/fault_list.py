"""Faults to plant, each a mistake that somebody could make, in every folder of ``ncd/``."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """A mistake: a text that occurs once in a file below ``ncd/``, and what is put in its place.

    ``tests`` are the arguments of pytest for the tests that should notice it: by default the
    examples in the file and the tests of its folder.
    """

    file: str
    old: str
    new: str
    tests: str = ""


PLAN = "tests/drawing/plan"  # also of what collapse makes of a circuit

FAULTS = (
    # the language
    Fault("lang/types/pattern_binding.py", "any(axis.sequence for", "all(axis.sequence for"),
    Fault("lang/circuits/size_solver.py", "known if left else known - value", "known"),
    Fault("lang/circuits/shared_layers.py", "_layer(first) == _layer(cell)", "True"),
    Fault("lang/terms/chain_typing.py", "(before and others_before) or ", ""),
    Fault("lang/formulas/traced_sizes.py", "lambda d: d <= 0", "lambda d: d < 0"),
    Fault(
        "derivatives/passes.py",
        "backward.call(Add(), grads[slot], more)[0] if slot in grads else more",
        "more",
        "tests/derivatives",
    ),
    Fault("derivatives/steps.py", "number: i for i, number in", "number: number for i, number in"),
    Fault("lang/formulas/elementwise_functions.py", '"$2 * (1 - $2)"', '"$2 * (1 + $2)"'),
    # ops
    Fault(
        "ops/windows/pooling.py",
        "several(self.kernel), several(self.stride), **named",
        "several(self.kernel), **named",
    ),
    Fault("ops/along_axis/top.py", "new.numel > old.numel", "new.numel >= old.numel"),
    Fault("ops/structure/concat.py", "if rest or left < 1:", "if left < 1:"),
    Fault("ops/linear_maps/einsum.py", "if both <= set(out.names):", "if not both:"),
    Fault(
        "ops/elementwise/formula_lowering.py",
        'SIGNS["<=" if operation == "min"',
        'SIGNS["<=" if operation == "max"',
    ),
    Fault(
        "ops/torch_calls/given.py",
        "array.numel != len(",
        "array.numel < len(",
        "tests/importing/test_from_torch.py",
    ),
    # torch modules as terms
    Fault("importing/base/atoms.py", "x.places & y.places for", "x.places < y.places for"),
    Fault("importing/calls/mask_calls.py", "torch.ones_like(flat[0]).tril()", "flat[0]"),
    Fault("importing/module_blocks.py", "item.takes[n:] == first.takes[n:]", "True"),
    # PyTorch source
    Fault("pytorch_source/expressions.py", "is isinstance(node.op, ast.Or)", "is True"),
    Fault("pytorch_source/listed/layer_building.py", "and own.is_meta:", "and False:"),
    Fault("pytorch_source/base/source_operators.py", "BITS and abs(a) > 1", "BITS"),
    Fault("pytorch_source/model_choice.py", "not in inner and one", "in inner or one"),
    # the drawing
    Fault("drawing/placement/separation.py", "style.DOUBLE if wide else 0.0", "0.0"),
    Fault("drawing/lint/label_rules.py", "axis) != (text", "axis) == (text"),
    Fault("drawing/marks/window_marks.py", "-1 if sum(away) < 0 else 1", "1"),
    Fault("drawing/plan/junctions.py", "(at < a) != (to < b)", "(at < a) == (to < b)"),
    Fault("drawing/plan/delay_inputs.py", "if s >= starts.get(value.id, 0))", "if s >= 0)"),
    Fault("drawing/collapse/repeated_layers.py", "(2, 8), (3, 3)", "(2, 7), (3, 3)", PLAN),
    Fault("drawing/fit/row_breaks.py", "+ (wide / share - 1) ** 2 ", "", "tests/drawing/fit"),
    Fault("drawing/routing/wire_crossings.py", "one[1] > two[1]", "one[1] < two[1]"),
    Fault("drawing/overlays/dependency_slice.py", "at.get(i, outs[o]) == outs[o]", "True"),
    Fault("drawing/backends/tikz.py", "'on' if i % 2 == 0", "'on' if i % 2 == 1"),
    Fault("drawing/backends/path_data.py", "(way > 0) == (by > 0)", "True"),
    Fault("drawing/base/label.py", "if before and after and not script", "if after and not script"),
    # what follows from a term
    Fault("code/table_lookup.py", "not batched[1]", "not batched[0]"),
    Fault("run/execution/fused_attention.py", "blind = hidden.all(", "blind = hidden.any("),
    Fault("run/base/seeding.py", "self.array[at + 1 :]", "self.array[at:]"),
    Fault("run/limits/guard.py", "return 2 * (_weights(circuit)", "return 4 * (_weights(circuit)"),
    Fault("run/explain/layer_arithmetic.py", "min(dim.size - 1, place", "min(dim.size, place"),
    Fault("graph/finite_differences.py", "1e-5 * max(1.0, abs", "1e-2 * max(1.0, abs"),
    Fault("lang/formulas/prefixed_amounts.py", "999.5 <= abs(number)", "1000.5 <= abs(number)"),
    Fault("export/collapse_states.py", "len(found) == most", "len(found) > most"),
    Fault("static_site/site_files.py", "entries[at + 1] if at + 1 <", "entries[at] if at + 1 <"),
    Fault("streaming/plan.py", "if name not in array.names)", "if name in array.names)"),
    Fault("onnx_model/nodes.py", 'if atom[0] == "%" else', 'if atom[0] == "//" else'),
    Fault("onnx_model/free_axes.py", "if dim.key not in own]", "if dim.key in own]"),
    Fault("widget/explorer.py", "max(16, 4 * size)", "max(16, size)"),
    Fault("key/sign_lookup.py", '"concat" if len(mark.ins) > 1', '"concat" if len(mark.ins) > 2'),
    Fault("costs.py", "bytes = cell.times * own", "bytes = own", "tests/test_cost.py"),
    Fault("serial.py", "if depth > DEPTH:", "if depth > DEPTH + 1:", "tests/test_serial.py"),
    # learning, the pool, the systems, the command line
    Fault("train/symbol_sequences.py", "t - 2 * length", "t - length"),
    Fault("train/attention_cells.py", ".tril(-1)", ".tril(0)"),
    Fault("jobs/job_pool.py", "len(self._queue) >= WAITING", "len(self._queue) > WAITING"),
    Fault(
        "models/catalogue_entry.py",
        "isinstance(value, bool) and self.switch",
        "self.switch",
        "tests/models/test_catalogue_entry.py",
    ),
    Fault("models/transformers/position_encoding.py", "(-r / n_r)", "(-r / n_t)"),
    Fault("models/components/window_attention.py", "y - x < {w}", "y - x <= {w}"),
    Fault("models/components/matrix_states.py", '"$1 / $2", "share"', '"$2 / $1", "share"'),
    Fault("models/recurrent_networks/gated_cells.py", "(1 - $1) * $2 + $1 * $3", "$1 * $2 + $3"),
    Fault("models/graphs/links.py", "max(min($1, 1), n == u)", "min($1, 1)"),
    Fault(
        "models/language_models/expert_mixture.py",
        '"$1 == z"',
        '"$1 != z"',
        "tests/models/configs",
    ),
    Fault("models/configs/config_fields.py", "if heads % groups:", "if groups % heads:"),
    Fault("cli/output.py", "(total - done) / done", "total / done"),
    Fault("text/reader.py", "if not 0 < count * len(items) <= COPIES:", "if count < 0:"),
    Fault("text/line_writer.py", "taken[origin[0]]", "taken[0]"),
    Fault("text/einsum_lines.py", "axis.name, size) != size:", "axis.name, size) < size:"),
    Fault("train/sentence_grammar.py", "tokens, PREPOSITIONS), 2)", "tokens, PREPOSITIONS), 1)"),
    # the app
    Fault("view/base/heatmap.py", "np.where(high >= -low", "np.where(high >= low"),
    Fault("view/session/pin.py", "value != knob.default", "value > knob.default"),
    Fault("view/compare/diagram_pair.py", '"+" if after > before', '"+" if after < before'),
    Fault("view/arrays/slice_picker.py", "and d.size > 1]", "]"),
    Fault(
        "view/inputs/feed.py",
        "if images.opens_with_sample(sketch) else",
        "if not images.opens_with_sample(sketch) else",
    ),
    Fault("inputs/sentences.py", ' and kind != "space"', ""),
    Fault("view/learning/symbol_table.py", "(wanted != NOT_ASKED).sum()", "len(wanted)"),
    Fault("view/quiz/questions.py", "and all(is_given(", "and any(is_given("),
    Fault("view/einops_lab/shape_check.py", '.count("->") != 1', '.count("->") < 1'),
    Fault("view/server/slides_endpoint.py", "if len(found) > 1", "if len(found) > 2"),
    Fault("view/runtime/scheduler.py", "Waiting(_since(lane),", "Waiting(-_since(lane),"),
    Fault("lessons/lesson.py", "if not 0 < len(views) <= MOST:", "if not 0 < len(views):"),
    Fault(
        "view/runtime/streamlit_patches.py",
        "now < last[0] + STAY",
        "now < last[0] - STAY",
        "tests/view/runtime",
    ),
    Fault("view/page/not_found.py", 'asked.lower().replace("_", "-")', "asked.lower()"),
    Fault("view/diagram/morph.py", "left = min(one.box.x0", "left = max(one.box.x0"),
    Fault("view/editor/completions.py", 'if "." not in name', "if name"),
    Fault("view/editor/text_editor.py", "max(error.end, start)", "error.end"),
    Fault("view/arithmetic/sum_table.py", "<= most + 1:", "<= most - 1:"),
    Fault("view/panels/attention/torch_layer.py", ">= x - settings", "> x - settings"),
    Fault("view/panels/components/cache_size.py", "if heads % g == 0", "if heads % g <= 1"),
    Fault(
        "view/panels/components/token_reach.py",
        "np.where(found <= layers, found, np.float32",
        "np.where(found < layers, found, np.float32",
        "tests/models/components/test_window_attention.py",
    ),
    Fault("view/panels/graphs/neighbours.py", "(table != 0).sum(1)", "(table != 0).sum(0)"),
    Fault("view/panels/common/step.py", "max(1, int(number))", "int(number)", "tests/view/panels"),
    Fault("view/panels/learning/norm_by_hand.py", "total / (m - 1) if m > 1", "total / m if m > 1"),
    Fault("view/panels/tensors/permutation_puzzle.py", "if goal == ours:", "if goal != ours:"),
    # those that an outside review planted, and that no fast test noticed
    Fault("view/server/http.py", "name.endswith(own[1:])", "name.endswith(own[2:])"),
    Fault("view/server/http.py", "allowed(site, named)", "allowed(site, HERE)"),
    Fault("view/session/link_text.py", "if len(quote(found)) <= LINK else", "if found else"),
    Fault("pytorch_source/base/source_operators.py", "len(a) + len(b) > most", "len(a) > most"),
    Fault("pytorch_source/base/source_operators.py", "bits > BITS and", "bits > 8 * BITS and"),
    Fault("pytorch_source/base/machine.py", "bit_length() > BITS:", "bit_length() > 8 * BITS:"),
    Fault("streaming/plan.py", "WHOLE = 64", "WHOLE = 32"),
    Fault("streaming/plan.py", "if names and name not in names", "if names and name in names"),
    Fault("streaming/columns.py", "h.first <= at <= h.last and", "h.first < at <= h.last and"),
    Fault("streaming/columns.py", "min(held.first, tiles[0]), max", "held.first, max"),
    Fault("streaming/columns.py", "last, parts, bits(id))", "last, parts, 32)"),
    Fault("lang/formats.py", "LEAST = 16", "LEAST = 17"),
    Fault("findings/finding.py", "sorted(edits, reverse=True)", "sorted(edits)"),
    Fault("answers/joined_files.py", "max(0, finding.line - before)", "finding.line"),
)
