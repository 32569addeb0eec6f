// Pages as a table: the rail, the palette, the shortcuts and tests read it.
import type { PlainKey } from "@/i18n";
import type { ActionId } from "@/state/shortcuts";
import type { IconName } from "./icons";

export interface PageRecord {
  id: "now" | "hardware" | "explore" | "status";
  path: "/" | "/hardware" | "/explore" | "/status";
  words: PlainKey;
  icon: IconName;
  go: ActionId;
  /** Below the rail's line. */
  below: boolean;
  /** Whether the page looks at a time range. */
  timed: boolean;
}

export const pages: readonly PageRecord[] = [
  { id: "now", path: "/", words: "now.title", icon: "now", go: "go.now", below: false, timed: true },
  { id: "hardware", path: "/hardware", words: "hardware.title", icon: "hardware", go: "go.hardware", below: false, timed: true },
  { id: "explore", path: "/explore", words: "explore.title", icon: "explore", go: "go.explore", below: false, timed: true },
  { id: "status", path: "/status", words: "status.title", icon: "status", go: "go.status", below: true, timed: false },
];
