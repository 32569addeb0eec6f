// Scope: which service, model, instance … the page looks at. In the address it
// is one flat key: scope=service:vision,model:resnet_mini
export const scopeKeys = ["cluster", "region", "namespace", "service", "model", "version", "instance", "node", "gpu"] as const;
export type ScopeKey = (typeof scopeKeys)[number];
export type Scope = Partial<Record<ScopeKey, string>>;

const known = new Set<string>(scopeKeys);

function escape(v: string): string {
  return v.replace(/[%,:]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0"));
}

function unescape(v: string): string {
  return v.replace(/%([0-9a-fA-F]{2})/g, (_, h: string) => String.fromCharCode(parseInt(h, 16)));
}

export function parseScope(text: string | undefined): Scope {
  const out: Scope = {};
  for (const part of (text ?? "").split(",")) {
    const at = part.indexOf(":");
    if (at <= 0) continue;
    const key = part.slice(0, at).trim();
    const value = unescape(part.slice(at + 1));
    if (known.has(key) && value !== "") out[key as ScopeKey] = value;
  }
  return out;
}

/** Undefined when empty, so that the key is left out of the address. */
export function formatScope(scope: Scope): string | undefined {
  const parts = scopeKeys.filter((k) => scope[k]).map((k) => `${k}:${escape(scope[k] ?? "")}`);
  return parts.length > 0 ? parts.join(",") : undefined;
}
