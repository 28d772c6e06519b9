// The text editor of the page Yours, made of CodeMirror 6; `make editor` bundles it into assets/.

import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, MapMode, StateEffect, StateField, Transaction } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, gutter, GutterMarker, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

// Returns an editor of `text` in `parent`. `changed(text)` is called after each change made by its
// reader, `complete(line, word, inText)` returns the completions of a word behind part of a line,
// `moved(line)` is called when the cursor is moved to a line.
export function codeEditor({ parent, text, label, changed, complete, finished, moved }) {
  const language = new Compartment();
  const view = new EditorView({
    parent,
    root: parent.getRootNode(),
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), history(), drawSelection(), bracketMatching(), closeBrackets(),
        indentOnInput(), indentUnit.of("    "), highlightActiveLine(),
        syntaxHighlighting(classHighlighter),
        language.of(languageOf(text)),
        margin,
        litLines,
        autocompletion({ override: [(context) => completions(context, complete)], icons: false }),
        // Tab leaves the editor, so that a keyboard is never trapped; it only takes a completion.
        keymap.of([
          { key: "Tab", run: acceptCompletion },
          { key: "Mod-Enter", run: () => (finished(), true) },
          ...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap,
        ]),
        EditorView.contentAttributes.of({ "aria-label": label, "aria-multiline": "true" }),
        EditorView.updateListener.of((update) => {
          const typed = update.transactions.some((each) => !each.annotation(Transaction.remote));
          if (update.docChanged && typed) changed(view.state.doc.toString());
          if (update.selectionSet && !update.docChanged)
            moved(update.state.doc.lineAt(update.state.selection.main.head).number);
        }),
      ],
    }),
  });
  const set = (next) => {
    const whole = { from: 0, to: view.state.doc.length, insert: next };
    view.dispatch({
      changes: whole,
      annotations: Transaction.remote.of(true),
      effects: language.reconfigure(languageOf(next)),
      scrollIntoView: false,
    });
    view.scrollDOM.scrollTop = 0;
  };
  // A change by a button is like one by its reader: it is told, and can be undone.
  const edit = (next) => {
    view.dispatch({ changes: difference(view.state.doc.toString(), next), scrollIntoView: true });
  };
  return {
    set,
    edit,
    text: () => view.state.doc.toString(),
    mark: (faults) => mark(view, faults),
    beside: (words) => view.dispatch({ effects: beside.of(words) }),
    light: (lines) => view.dispatch({ effects: lit.of(lines) }),
    lineAt: (y) => view.state.doc.lineAt(view.lineBlockAtHeight(y - view.documentTop).from).number,
    show: (line) => {
      // Of the editor alone: the answer above it stays in view.
      const { top, height } = view.lineBlockAt(view.state.doc.line(Math.min(line, view.state.doc.lines)).from);
      view.scrollDOM.scrollTop = top - (view.scrollDOM.clientHeight - height) / 2;
    },
  };
}

// The part of a text that differs from another one, as a change of it.
function difference(text, next) {
  const most = Math.min(text.length, next.length);
  let from = 0;
  while (from < most && text[from] === next[from]) from++;
  let same = 0;
  while (same < most - from && text.at(-1 - same) === next.at(-1 - same)) same++;
  return { from, to: text.length - same, insert: next.slice(from, next.length - same) };
}

// Words beside lines, in a margin on the right; they move with their lines while one types, and go
// with them.
const beside = StateEffect.define();

class Words extends GutterMarker {
  constructor(words, names) {
    super();
    this.words = words;
    this.names = names;
  }

  eq(other) {
    return this.words === other.words && this.names === other.names;
  }

  toDOM() {
    const made = document.createElement("span");
    const names = document.createElement("i");
    made.title = names.textContent = this.names ?? "";
    made.append(this.words, names);
    return made;
  }
}

const places = StateField.define({
  create: () => [],
  update(value, { newDoc, changes, docChanged, effects }) {
    const given = effects.find((each) => each.is(beside));
    if (given) {
      const known = given.value.filter(([line]) => line >= 1 && line <= newDoc.lines);
      return known.map(([line, ...words]) => ({ at: newDoc.line(line).from, words: new Words(...words) }));
    }
    if (!docChanged) return value;
    const moved = value.map(({ at, words }) => ({ at: changes.mapPos(at, 1, MapMode.TrackAfter), words }));
    return moved.filter(({ at }) => at !== null);
  },
});

const margin = [
  places,
  gutter({
    class: "cm-beside",
    side: "after",
    lineMarker: (view, line) =>
      view.state.field(places).find(({ at }) => at >= line.from && at <= line.to)?.words ?? null,
    lineMarkerChange: (update) => update.startState.field(places) !== update.state.field(places),
  }),
];

// Lines that are lit, as their ops are elsewhere on the page.
const lit = StateEffect.define();
const LIT = Decoration.line({ class: "cm-lit" });

const litLines = StateField.define({
  create: () => Decoration.none,
  update(value, { state, changes, effects }) {
    const given = effects.find((each) => each.is(lit));
    if (!given) return value.map(changes);
    const known = given.value.filter((line) => line >= 1 && line <= state.doc.lines);
    return Decoration.set(known.map((line) => LIT.range(state.doc.line(line).from)), true);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const languageOf = (text) => (/^\s*\{/.test(text) ? json() : pythonLanguage);

function completions(context, complete) {
  const word = context.matchBefore(/\w*/);
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, word.from - line.from);
  if (word.from === word.to && !context.explicit && !before.endsWith(".")) return null;
  const inText = (before.match(/"/g) ?? []).length % 2 === 1;
  const options = complete(before, inText, context.state.doc.toString());
  return options.length ? { from: word.from, options, validFor: /^\w*$/ } : null;
}

// Underlines faults; a line and a column begin at 1, and `instead` is a text that would work, and a
// `mild` one is a warning.
function mark(view, faults) {
  const { doc } = view.state;
  const place = ([line, column]) => {
    const found = doc.line(Math.max(1, Math.min(line, doc.lines)));
    return Math.min(found.from + Math.max(0, column - 1), found.to);
  };
  const shown = faults.map(({ from, to, message, instead, mild }) => {
    const [begin, end] = [place(from), Math.max(place(to), place(from))];
    const apply = (target, start, stop) =>
      target.dispatch({ changes: { from: start, to: stop, insert: instead } });
    const actions = instead ? [{ name: instead, apply }] : [];
    return { from: begin, to: end, severity: mild ? "warning" : "error", message, actions };
  });
  view.dispatch(setDiagnostics(view.state, shown));
}
