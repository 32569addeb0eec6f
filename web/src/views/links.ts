// Addresses that charts and numbers point to.
/** Path of a model's page. */
export function modelPath(service: string, model: string): string {
  return `/models/${encodeURIComponent(service)}/${encodeURIComponent(model)}`;
}

/** A canonical signal of one entity as PromQL, for Explore. Values are quoted as PromQL wants them. */
export function signalQuery(signal: string, match: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(match)
    .filter(([, v]) => v !== undefined && v !== "")
    .map(([k, v]) => `${k}=${JSON.stringify(v)}`);
  return parts.length > 0 ? `${signal}{${parts.join(", ")}}` : signal;
}
