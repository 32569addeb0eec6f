// Shortcuts are records: one list feeds the handler, the help sheet, the
// palette's hints and the tests. Pages give a record its effect with useAction.
import type { PlainKey } from "@/i18n";

export type ShortcutGroup = "everywhere" | "go" | "time" | "rows";

export type ActionId =
  | "palette"
  | "help"
  | "filter"
  | "theme"
  | "copyLink"
  | "go.now"
  | "go.hardware"
  | "go.explore"
  | "go.status"
  | "time.out"
  | "time.in"
  | "time.back"
  | "time.forward"
  | "time.absolute"
  | "time.copy"
  | "time.paste"
  | "time.live"
  | "row.next"
  | "row.previous"
  | "row.open";

export interface Shortcut {
  id: ActionId;
  /** One or two strokes: "mod+k", "?", "g n". mod is ⌘ on Apple machines, else Ctrl. */
  keys: string;
  group: ShortcutGroup;
  words: PlainKey;
}

export const groups: readonly { id: ShortcutGroup; words: PlainKey }[] = [
  { id: "everywhere", words: "shell.keys.everywhere" },
  { id: "go", words: "shell.keys.go" },
  { id: "time", words: "shell.keys.time" },
  { id: "rows", words: "shell.keys.rows" },
];

export const shortcuts: readonly Shortcut[] = [
  { id: "palette", keys: "mod+k", group: "everywhere", words: "shell.action.palette" },
  { id: "help", keys: "?", group: "everywhere", words: "shell.action.help" },
  { id: "filter", keys: "/", group: "everywhere", words: "shell.action.filter" },
  { id: "go.now", keys: "g n", group: "go", words: "shell.action.goNow" },
  { id: "go.hardware", keys: "g h", group: "go", words: "shell.action.goHardware" },
  { id: "go.explore", keys: "g x", group: "go", words: "shell.action.goExplore" },
  { id: "go.status", keys: "g s", group: "go", words: "shell.action.goStatus" },
  { id: "time.out", keys: "t o", group: "time", words: "shell.action.timeOut" },
  { id: "time.in", keys: "t i", group: "time", words: "shell.action.timeIn" },
  { id: "time.back", keys: "t ArrowLeft", group: "time", words: "shell.action.timeBack" },
  { id: "time.forward", keys: "t ArrowRight", group: "time", words: "shell.action.timeForward" },
  { id: "time.absolute", keys: "t a", group: "time", words: "shell.action.timeAbsolute" },
  { id: "time.copy", keys: "t c", group: "time", words: "shell.action.timeCopy" },
  { id: "time.paste", keys: "t v", group: "time", words: "shell.action.timePaste" },
  { id: "time.live", keys: "t l", group: "time", words: "shell.action.timeLive" },
  { id: "row.next", keys: "j", group: "rows", words: "shell.action.rowNext" },
  { id: "row.previous", keys: "k", group: "rows", words: "shell.action.rowPrevious" },
  { id: "row.open", keys: "Enter", group: "rows", words: "shell.action.rowOpen" },
];

/** What the handler needs of a key event. */
export interface Stroke {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

function strokeMatches(wanted: string, s: Stroke): boolean {
  const mod = wanted.startsWith("mod+");
  const key = mod ? wanted.slice(4) : wanted;
  if (mod !== (s.ctrlKey || s.metaKey) || s.altKey) return false;
  return s.key.toLowerCase() === key.toLowerCase() && (key.length > 1 || mod || !/[a-z]/i.test(key) || !s.shiftKey);
}

/** How long the second key of a chord may take. */
export const chordMs = 1200;

/** Turns strokes into actions; holds the first key of a chord. */
export class Matcher {
  private first: { key: string; at: number } | null = null;

  constructor(private readonly records: readonly Shortcut[] = shortcuts) {}

  /** The action that this stroke completes; "chord" when it may start one; null when it means nothing. */
  next(s: Stroke, atMs: number): ActionId | "chord" | null {
    const held = this.first && atMs - this.first.at <= chordMs ? this.first.key : null;
    this.first = null;
    if (held !== null) {
      const hit = this.records.find((r) => r.keys.includes(" ") && r.keys.split(" ")[0] === held && strokeMatches(r.keys.split(" ")[1] ?? "", s));
      if (hit) return hit.id;
    }
    const single = this.records.find((r) => !r.keys.includes(" ") && strokeMatches(r.keys, s));
    if (single) return single.id;
    const opens = this.records.find((r) => r.keys.includes(" ") && strokeMatches(r.keys.split(" ")[0] ?? "", s));
    if (opens) {
      this.first = { key: opens.keys.split(" ")[0] ?? "", at: atMs };
      return "chord";
    }
    return null;
  }
}

/** Keys typed here are text, not shortcuts. */
export function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "range"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

type Effect = () => void;
const effects = new Map<ActionId, Effect[]>();
const listeners = new Set<() => void>();

/** Gives an action its effect until the returned function is called; the latest wins. */
export function registerAction(id: ActionId, effect: Effect): () => void {
  effects.set(id, [...(effects.get(id) ?? []), effect]);
  for (const l of listeners) l();
  return () => {
    effects.set(id, (effects.get(id) ?? []).filter((e) => e !== effect));
    for (const l of listeners) l();
  };
}

/** Runs the action; false when nothing on this page gives it an effect. */
export function runAction(id: ActionId): boolean {
  const effect = effects.get(id)?.at(-1);
  if (!effect) return false;
  effect();
  return true;
}

/** Whether the action does something here. */
export function actionAvailable(id: ActionId): boolean {
  return (effects.get(id)?.length ?? 0) > 0;
}

export function subscribeActions(l: () => void): () => void {
  listeners.add(l);
  return () => listeners.delete(l);
}
