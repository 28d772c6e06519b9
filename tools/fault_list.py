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
    Fault("language/patterns.py", "any(axis.sequence for", "all(axis.sequence for"),
    Fault("circuit/size_solver.py", "known if left else known - value", "known"),
    Fault("circuit/assembly.py", "_layer(first) == _layer(cell)", "True"),
    Fault("language/terms.py", "(before and others_before) or ", ""),
    Fault("formulas/traced_sizes.py", "lambda d: d <= 0", "lambda d: d < 0"),
    Fault(
        "rewrite/gradient.py",
        "backward.call(Add(), grads[slot], more)[0] if slot in grads else more",
        "more",
        "tests/rewrite",
    ),
    Fault(
        "rewrite/rules/term_recorder.py",
        "number: i for i, number in",
        "number: number for i, number in",
    ),
    Fault("formulas/elementwise_functions.py", '"$2 * (1 - $2)"', '"$2 * (1 + $2)"'),
    # ops
    Fault(
        "ops/pooling.py",
        "number_or_tuple(self.stride),\n                **named",
        "**named",
    ),
    Fault("ops/reductions.py", "new.numel > old.numel", "new.numel >= old.numel"),
    Fault("ops/concat.py", "if rest or left < 1:", "if left < 1:"),
    Fault("ops/einsum.py", "if both <= set(out.names):", "if not both:"),
    Fault(
        "ops/formula_lowering.py",
        'SIGNS["<=" if operation == "min"',
        'SIGNS["<=" if operation == "max"',
    ),
    Fault(
        "ops/constant_array.py",
        "array.numel != len(",
        "array.numel < len(",
        "tests/read/torch_module/test_from_torch.py",
    ),
    # torch modules as terms
    Fault(
        "read/torch_calls/dimension_atoms.py",
        "x.step_numbers & y.step_numbers for",
        "x.step_numbers < y.step_numbers for",
    ),
    Fault("read/torch_calls/elementwise_calls.py", "torch.ones_like(flat[0]).tril()", "flat[0]"),
    Fault("read/torch_module/term_building.py", "item.takes[n:] == first.takes[n:]", "True"),
    # PyTorch source
    Fault("read/python_source/source_expressions.py", "is isinstance(node.op, ast.Or)", "is True"),
    Fault("read/python_source/torch_layers.py", "and own.is_meta:", "and False:"),
    Fault("read/python_source/source_operators.py", "BITS and abs(a) > 1", "BITS"),
    Fault("read/python_source/model_choice.py", "not in inner and one", "in inner or one"),
    # the drawing
    Fault("drawing/placement/wire_order.py", "style.DOUBLE if wide else 0.0", "0.0"),
    Fault("drawing/lint/label_rules.py", "axis) != (text", "axis) == (text"),
    Fault("drawing/marks/window_marks.py", "-1 if sum(away) < 0 else 1", "1"),
    Fault("drawing/plan/build_plan.py", "(at < a) != (to < b)", "(at < a) == (to < b)"),
    Fault("drawing/plan/build_plan.py", "if s >= starts.get(value.id, 0))", "if s >= 0)"),
    Fault("drawing/plan/repeated_layers.py", "(2, 8), (3, 3)", "(2, 7), (3, 3)", PLAN),
    Fault("drawing/fit.py", "+ (wide / share - 1) ** 2 ", "", "tests/drawing"),
    Fault("drawing/elements/routing.py", "one[1] > two[1]", "one[1] < two[1]"),
    Fault("drawing/cell_grids.py", "at.get(i, outs[o]) == outs[o]", "True"),
    Fault("drawing/backends/tikz.py", "'on' if i % 2 == 0", "'on' if i % 2 == 1"),
    Fault("drawing/backends/painting.py", "(way > 0) == (by > 0)", "True"),
    Fault(
        "drawing/elements/labels.py",
        "if before and after and not script",
        "if after and not script",
    ),
    # what follows from a term
    Fault("write/torch_source/expression_writer.py", "not batched[1]", "not batched[0]"),
    Fault("run/fused_attention.py", "blind = hidden.all(", "blind = hidden.any("),
    Fault("run/seeding.py", "self.array[at + 1 :]", "self.array[at:]"),
    Fault("run/guard.py", "return 2 * (_weights(circuit)", "return 4 * (_weights(circuit)"),
    Fault("explain/cell_arithmetic.py", "min(dim.size - 1, place", "min(dim.size, place"),
    Fault("explain/chain_rule.py", "1e-5 * max(1.0, abs", "1e-2 * max(1.0, abs"),
    Fault("formulas/prefixed_amounts.py", "999.5 <= abs(number)", "1000.5 <= abs(number)"),
    Fault("site/collapse_states.py", "len(found) == most", "len(found) > most"),
    Fault("site/site_files.py", "entries[at + 1] if at + 1 <", "entries[at] if at + 1 <"),
    Fault("rewrite/tile_schedule.py", "if name not in array.names", "if name in array.names"),
    Fault("write/onnx/onnx_nodes.py", 'if atom[0] == "%" else', 'if atom[0] == "//" else'),
    Fault("write/onnx/onnx_model.py", "if dim.key not in own]", "if dim.key in own]"),
    Fault("site/widget.py", "max(16, 4 * size)", "max(16, size)"),
    Fault(
        "drawing/legend/legend.py",
        '"concat" if len(mark.ins) > 1',
        '"concat" if len(mark.ins) > 2',
    ),
    Fault(
        "circuit/costs.py",
        "bytes = cell.run_count * own",
        "bytes = own",
        "tests/circuit/test_costs.py",
    ),
    Fault(
        "write/term_json.py",
        "if depth > DEPTH:",
        "if depth > DEPTH + 1:",
        "tests/write/test_term_json.py",
    ),
    # learning, the pool, the systems, the command line
    Fault("systems/training/sequence_data.py", "t - 2 * length", "t - length"),
    Fault(
        "systems/training/sequence_data.py",
        "answers[..., None, :]).tril(-1)",
        "answers[..., None, :]).tril(0)",
    ),
    Fault("jobs/job_pool.py", "len(self._queue) >= WAITING", "len(self._queue) > WAITING"),
    Fault("circuit/knob.py", "isinstance(value, bool) and self.switch", "self.switch"),
    Fault("systems/transformers/position_encoding.py", "(-r / n_r)", "(-r / n_t)"),
    Fault("systems/transformers/attention_variants.py", "y - x < {w}", "y - x <= {w}"),
    Fault("systems/recurrent/linear_attention.py", '"$1 / $2", "share"', '"$2 / $1", "share"'),
    Fault("systems/recurrent/gated_cells.py", "(1 - $1) * $2 + $1 * $3", "$1 * $2 + $3"),
    Fault("systems/networks/graph_networks.py", "max(min($1, 1), n == u)", "min($1, 1)"),
    Fault(
        "systems/language_models/expert_mixture.py",
        '"$1 == z"',
        '"$1 != z"',
        "tests/read/configs",
    ),
    Fault("read/configs/config_fields.py", "if heads % groups:", "if groups % heads:"),
    Fault("cli/output.py", "(total - done) / done", "total / done"),
    Fault("notation/term_reader.py", "if not 0 < count * len(items) <= COPIES:", "if count < 0:"),
    Fault("notation/term_text.py", "taken[origin[0]]", "taken[0]"),
    Fault("read/einsum_line.py", "axis.name, size) != size:", "axis.name, size) < size:"),
    Fault(
        "systems/training/sequence_data.py",
        "tokens, PREPOSITIONS), 2)",
        "tokens, PREPOSITIONS), 1)",
    ),
    # the app
    Fault("explain/colour_scale.py", "np.where(high >= -low", "np.where(high >= low"),
    Fault("app/scene/pin.py", "value != knob.default", "value > knob.default"),
    Fault("app/panels/walk/compared_diagrams.py", '"+" if after > before', '"+" if after < before'),
    Fault(
        "app/parts/slice_picker.py",
        "not in self.picture_dims and d.size > 1",
        "not in self.picture_dims",
    ),
    Fault(
        "app/parts/input_feed.py",
        "if picture_inputs.opens_with_sample(sketch) else",
        "if not picture_inputs.opens_with_sample(sketch) else",
    ),
    Fault("systems/inputs/text_inputs.py", ' and kind != "space"', ""),
    Fault("app/panels/attention/sequence_reading.py", "(wanted != NOT_ASKED).sum()", "len(wanted)"),
    Fault("app/teach/quiz.py", "and all(is_given(", "and any(is_given("),
    Fault("app/panels/tensors/einops_shape_check.py", '.count("->") != 1', '.count("->") < 1'),
    Fault("app/host/presenter_endpoints.py", "if len(found) > 1", "if len(found) > 2"),
    Fault("app/runtime/scheduler.py", "Waiting(_wait_start(lane),", "Waiting(-_wait_start(lane),"),
    Fault(
        "systems/lessons/lesson.py", "if not 0 < len(views) <= MAX_VIEWS:", "if not 0 < len(views):"
    ),
    Fault(
        "app/runtime/streamlit_internals.py",
        "now < last[0] + STAY",
        "now < last[0] - STAY",
        "tests/app/runtime",
    ),
    Fault("app/page/navigation.py", 'asked.lower().replace("_", "-")', "asked.lower()"),
    Fault("app/figure/morph.py", "left = min(one.box.x0", "left = max(one.box.x0"),
    Fault("app/parts/text_editor.py", 'if "." not in name', "if name"),
    Fault("app/parts/text_editor.py", "max(error.end, start)", "error.end"),
    Fault("app/figure/arithmetic_html.py", "<= most + 1:", "<= most - 1:"),
    Fault("app/panels/attention/torch_layer.py", ">= x - settings", "> x - settings"),
    Fault("app/panels/attention/kv_cache.py", "if heads % g == 0", "if heads % g <= 1"),
    Fault(
        "app/panels/attention/token_reach.py",
        "np.where(found <= layers, found, np.float32",
        "np.where(found < layers, found, np.float32",
        "tests/systems/transformers/test_window_attention.py",
    ),
    Fault("app/panels/attention/neighbours.py", "(table != 0).sum(1)", "(table != 0).sum(0)"),
    Fault("app/panels/walk/step.py", "max(1, int(number))", "int(number)", "tests/app/panels"),
    Fault("app/panels/learning/norm_panels.py", "total / (m - 1) if m > 1", "total / m if m > 1"),
    Fault("app/panels/tensors/memory_order.py", "if goal == ours:", "if goal != ours:"),
    # those that an outside review planted, and that no fast test noticed
    Fault("app/host/http.py", "name.endswith(own[1:])", "name.endswith(own[2:])"),
    Fault("app/host/http.py", "is_allowed_host(site, named)", "is_allowed_host(site, LOCAL_HOSTS)"),
    Fault("app/state/link_text.py", "if len(quote(found)) <= LINK else", "if found else"),
    Fault("read/python_source/source_operators.py", "len(a) + len(b) > most", "len(a) > most"),
    Fault("read/python_source/source_operators.py", "bits > BITS and", "bits > 8 * BITS and"),
    Fault("read/python_source/interpreter.py", "bit_length() > BITS:", "bit_length() > 8 * BITS:"),
    Fault("rewrite/tile_schedule.py", "INTEGER_BITS = 64", "INTEGER_BITS = 32"),
    Fault(
        "rewrite/tile_schedule.py", "if names and name not in names", "if names and name in names"
    ),
    Fault(
        "rewrite/tile_schedule.py",
        "h.first_stage <= at <= h.last_stage and",
        "h.first_stage < at <= h.last_stage and",
    ),
    Fault(
        "rewrite/tile_schedule.py", "min(held.first_stage, tiles[0]), max", "held.first_stage, max"
    ),
    Fault("rewrite/tile_schedule.py", "last, parts, bits(id))", "last, parts, 32)"),
    Fault("language/number_formats.py", "MIN_VECTOR_BITS = 16", "MIN_VECTOR_BITS = 17"),
    Fault("findings/reading/finding.py", "sorted(edits, reverse=True)", "sorted(edits)"),
    Fault("answers/opened_files.py", "max(0, finding.line - before)", "finding.line"),
)
