import { useEffect, useRef } from "react";
import { registerAction, type ActionId } from "./shortcuts";

/** Gives a shortcut its effect while the component is on screen. */
export function useAction(id: ActionId, effect: () => void, enabled = true): void {
  const latest = useRef(effect);
  latest.current = effect;
  useEffect(() => (enabled ? registerAction(id, () => latest.current()) : undefined), [id, enabled]);
}
