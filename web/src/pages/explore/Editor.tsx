// The PromQL editor: a chunk of its own, loaded when Explore opens.
import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, completionStatus, moveCompletionSelection, startCompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, insertNewlineAndIndent } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { newCompleteStrategy, PromQLExtension } from "@prometheus-io/codemirror-promql";
import { useEffect, useRef } from "react";
import { asksForWords } from "./complete";
import type { ErrorPlace } from "./result";

const look = EditorView.theme({
  "&": { fontSize: "13px", backgroundColor: "transparent", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--font-mono, ui-monospace, monospace)", lineHeight: "20px" },
  ".cm-content": { padding: "5px 0", caretColor: "var(--text)", minHeight: "30px" },
  ".cm-line": { padding: "0 8px" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { backgroundColor: "var(--selected)" },
  ".cm-placeholder": { color: "var(--faint)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--hover)", outline: "1px solid var(--line-strong)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", border: "1px solid var(--line-strong)", borderRadius: "6px", boxShadow: "var(--pop-shadow)", color: "var(--text)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--font-mono, ui-monospace, monospace)", fontSize: "12px", maxHeight: "320px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--selected)", color: "var(--text)" },
  ".cm-completionDetail": { color: "var(--faint)", fontStyle: "normal", marginLeft: "12px" },
  ".cm-completionInfo": { padding: "6px 8px", maxWidth: "360px" },
  ".cm-completionMatchedText": { textDecoration: "none", color: "var(--accent)" },
  ".cm-completionIcon": { display: "none" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
});

const colours = HighlightStyle.define([
  { tag: tags.name, color: "var(--text)" },
  { tag: [tags.function(tags.variableName), tags.standard(tags.name)], color: "var(--series-1)" },
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--series-5)" },
  { tag: tags.labelName, color: "var(--series-7)" },
  { tag: tags.string, color: "var(--series-3)" },
  { tag: tags.number, color: "var(--series-2)" },
  { tag: tags.operator, color: "var(--muted)" },
  { tag: [tags.paren, tags.brace, tags.squareBracket, tags.separator], color: "var(--muted)" },
  { tag: tags.comment, color: "var(--faint)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

export interface EditorProps {
  value: string;
  /** What the server found wrong. */
  error: ErrorPlace | null;
  label: string;
  hint: string;
  onChange: (value: string) => void;
  onRun: (value: string) => void;
}

export default function Editor(p: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(p);
  latest.current = p;

  useEffect(() => {
    if (!host.current) return;
    const words = newCompleteStrategy({ remote: { url: "", httpMethod: "GET", cache: { maxAge: 60_000 } } });
    const complete = async (context: CompletionContext): Promise<CompletionResult | null> =>
      asksForWords(context.state.sliceDoc(0, context.pos), context.explicit) ? await words.promQL(context) : null;
    const promql = new PromQLExtension().activateCompletion(false);
    // Enter is the reader's "ask": it takes a completion only where an arrow key has chosen one
    let chosen = false;
    const choose = (forward: boolean) => (e: EditorView) => {
      const moved = completionStatus(e.state) === "active" && moveCompletionSelection(forward)(e);
      chosen ||= moved;
      return moved;
    };
    const run = (e: EditorView) => {
      if (chosen && acceptCompletion(e)) return true;
      closeCompletion(e);
      latest.current.onRun(e.state.doc.toString());
      return true;
    };
    const take = (e: EditorView) => {
      if (completionStatus(e.state) !== "active") return false;
      return acceptCompletion(e) || (moveCompletionSelection(true)(e) && acceptCompletion(e));
    };
    const v = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          history(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          autocompletion({ icons: false, defaultKeymap: false, selectOnOpen: false, interactionDelay: 0, override: [complete] }),
          promql.asExtension(),
          syntaxHighlighting(colours),
          look,
          EditorView.lineWrapping,
          placeholder(latest.current.hint),
          EditorView.contentAttributes.of({ "aria-label": latest.current.label, "data-filter": "" }),
          // Enter runs, Shift+Enter makes a line, as on Prometheus' own page; Tab takes what is offered
          Prec.highest(
            keymap.of([
              { key: "Enter", run },
              { key: "Mod-Enter", run },
              { key: "Shift-Enter", run: insertNewlineAndIndent },
              { key: "Tab", run: take },
              { key: "ArrowDown", run: choose(true) },
              { key: "ArrowUp", run: choose(false) },
              { key: "Ctrl-Space", run: startCompletion },
              { key: "Escape", run: (e) => closeCompletion(e) || (e.contentDOM.blur(), true) },
            ]),
          ),
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap]),
          EditorView.updateListener.of((u) => {
            if (!u.docChanged) return;
            chosen = false;
            latest.current.onChange(u.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = v;
    // a link brings its query along: then the keys belong to the page
    if (latest.current.value === "") v.focus();
    return () => {
      view.current = null;
      v.destroy();
      promql.destroy();
      words.destroy?.();
    };
  }, []);

  useEffect(() => {
    const v = view.current;
    if (v && v.state.doc.toString() !== p.value) v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: p.value } });
  }, [p.value]);

  useEffect(() => {
    const v = view.current;
    if (!v) return;
    const e = p.error;
    const fits = e && e.to <= v.state.doc.length;
    v.dispatch(setDiagnostics(v.state, fits ? [{ from: e.from, to: Math.max(e.to, e.from), severity: "error", message: e.message }] : []));
  }, [p.error]);

  return <div ref={host} data-testid="promql" className="min-w-0 flex-1 rounded-md border border-line-strong bg-sunken focus-within:border-accent" />;
}
