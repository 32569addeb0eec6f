// The only place that talks to the server, with one policy for errors: every
// failure is an ApiError that knows what was asked, what failed and what to do.
import { noteAnswer } from "@/state/live";
import type { Envelope } from "./types";

export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(
    /** Sentence for people. */
    message: string,
    /** For machines: token_missing, unreachable, timeout, bad_answer or the server's own. */
    readonly code: string,
    /** What was asked: method and path with query. */
    readonly request: string,
    readonly status: number,
    readonly hint: string | undefined = undefined,
    readonly errorType: string | undefined = undefined,
  ) {
    super(message);
  }
  /** Whether asking again may help without a change. */
  get transient(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 503 || this.status === 504;
  }
}

export interface Answer<T> {
  data: T;
  warnings: string[];
}

type Query = Record<string, string | number | readonly string[] | undefined | null>;

export interface Ask {
  query?: Query;
  signal?: AbortSignal;
  /** Sent as JSON by POST. */
  body?: unknown;
  /** Sent as a form by POST: for long PromQL. */
  form?: Query;
  timeoutMs?: number;
}

export function queryText(query: Query | undefined): string {
  const p = new URLSearchParams();
  for (const [k, v] of Object.entries(query ?? {})) {
    if (v === undefined || v === null || v === "") continue;
    if (Array.isArray(v)) for (const one of v as readonly string[]) p.append(k, one);
    else p.append(k, String(v));
  }
  return p.toString();
}

const unauthorised = new Set<() => void>();

/** Called when an answer says that a token is needed. */
export function onTokenMissing(listener: () => void): () => void {
  unauthorised.add(listener);
  return () => unauthorised.delete(listener);
}

async function send(path: string, ask: Ask): Promise<{ response: Response; request: string }> {
  const query = queryText(ask.query);
  const url = query === "" ? path : `${path}?${query}`;
  const post = ask.body !== undefined || ask.form !== undefined;
  const asked = Object.entries(ask.form ?? {}).map(([k, v]) => `${k}=${String(v)}`).join(" ");
  const request = `${post ? "POST" : "GET"} ${url}${asked ? ` ${asked}` : ""}`;
  const timeout = AbortSignal.timeout(ask.timeoutMs ?? 40_000);
  const init: RequestInit = {
    signal: ask.signal ? AbortSignal.any([ask.signal, timeout]) : timeout,
    headers: { Accept: "application/json" },
    credentials: "same-origin",
  };
  if (post) {
    init.method = "POST";
    init.headers = {
      Accept: "application/json",
      "Content-Type": ask.form ? "application/x-www-form-urlencoded" : "application/json",
    };
    init.body = ask.form ? queryText(ask.form) : JSON.stringify(ask.body);
  }
  const sent = Date.now();
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (e) {
    if (ask.signal?.aborted) throw e;
    if (timeout.aborted) throw new ApiError("no answer in time", "timeout", request, 0);
    throw new ApiError(e instanceof Error ? e.message : String(e), "unreachable", request, 0);
  }
  noteAnswer(response.headers.get("date"), sent, Date.now());
  return { response, request };
}

/** Asks for an enveloped answer. Throws ApiError, or the abort of `signal`. */
export async function ask<T>(path: string, options: Ask = {}): Promise<Answer<T>> {
  const { response, request } = await send(path, options);
  let envelope: Envelope<T> | null = null;
  const text = await response.text();
  try {
    envelope = JSON.parse(text) as Envelope<T>;
  } catch {
    envelope = null;
  }
  if (response.ok && envelope?.status === "success") {
    return { data: envelope.data as T, warnings: [...(envelope.warnings ?? []), ...(envelope.infos ?? [])] };
  }
  const code = envelope?.code ?? envelope?.errorType ?? (response.ok ? "bad_answer" : `http_${response.status}`);
  const needsToken = response.status === 401;
  if (needsToken) for (const l of unauthorised) l();
  throw new ApiError(
    envelope?.error ?? (response.ok ? "the answer is not what this console expects" : response.statusText || `HTTP ${response.status}`),
    needsToken && !envelope?.code ? "token_missing" : code,
    request,
    response.status,
    envelope?.hint,
    envelope?.errorType,
  );
}

/** JSON without an envelope, whatever the status: /readyz says 503 and still tells. */
export async function askPlain<T>(path: string, options: Ask = {}): Promise<T> {
  const { response, request } = await send(path, options);
  try {
    return (await response.json()) as T;
  } catch {
    throw new ApiError(response.statusText || `HTTP ${response.status}`, `http_${response.status}`, request, response.status);
  }
}

/** Plain text, for example the configuration. */
export async function askText(path: string, options: Ask = {}): Promise<string> {
  const { response, request } = await send(path, options);
  const text = await response.text();
  if (response.ok) return text;
  let envelope: Envelope<unknown> | null = null;
  try {
    envelope = JSON.parse(text) as Envelope<unknown>;
  } catch {
    envelope = null;
  }
  if (response.status === 401) for (const l of unauthorised) l();
  throw new ApiError(
    envelope?.error ?? (response.statusText || `HTTP ${response.status}`),
    envelope?.code ?? (response.status === 401 ? "token_missing" : `http_${response.status}`),
    request,
    response.status,
    envelope?.hint,
  );
}
