// Development only: answers the API in the dev server and in `vite preview`
// when no server is given. The header x-mock (or the variable MOCK) picks a
// scenario: demo, empty, starting, token, broken, many.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Connect, Plugin } from "vite";
import * as prom from "./prometheus.ts";
import * as world from "./world.ts";
import type { Scenario } from "./world.ts";

const scenarios: readonly Scenario[] = ["demo", "empty", "starting", "token", "broken", "many"];
const csp = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

function scenarioOf(req: IncomingMessage): Scenario {
  const asked = String(req.headers["x-mock"] ?? process.env.MOCK ?? "demo");
  return scenarios.find((s) => s === asked) ?? "demo";
}

function reply(res: ServerResponse, status: number, body: unknown, type = "application/json"): void {
  res.statusCode = status;
  res.setHeader("Content-Type", type);
  res.setHeader("Date", new Date().toUTCString());
  res.setHeader("Cache-Control", "no-store");
  res.end(type === "application/json" ? JSON.stringify(body) : String(body));
}

function ok(res: ServerResponse, data: unknown): void {
  reply(res, 200, { status: "success", data });
}

function fail(res: ServerResponse, status: number, errorType: string, error: string, code?: string, hint?: string): void {
  reply(res, status, { status: "error", errorType, error, code, hint });
}

async function body(req: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const p of req) parts.push(p as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

function num(p: URLSearchParams, name: string, fallback: number): number {
  const v = p.get(name);
  return v !== null && v !== "" && Number.isFinite(Number(v)) ? Number(v) : fallback;
}

async function answer(req: IncomingMessage, res: ServerResponse, url: URL): Promise<void> {
  const scenario = scenarioOf(req);
  const p = url.searchParams;
  const at = Date.now() / 1000;
  const path = url.pathname;
  const text = req.method === "POST" ? await body(req) : "";
  if (req.method === "POST" && req.headers["content-type"]?.includes("form")) for (const [k, v] of new URLSearchParams(text)) p.append(k, v);

  if (path === "/readyz") {
    const s = world.status(scenario, at);
    return reply(res, s.ready ? 200 : 503, { ready: s.ready, parts: s.parts });
  }
  if (path === "/healthz") return reply(res, 200, { status: "ok" });
  if (path === "/api/v1/sightline/login") {
    const token = (JSON.parse(text || "{}") as { token?: string }).token;
    if (token !== "open sesame") return fail(res, 401, "unauthorized", "this token is not known", "token_unknown", "the token is printed when the server starts");
    res.setHeader("Set-Cookie", "sightline_mock=1; Path=/; SameSite=Strict; HttpOnly");
    return ok(res, {});
  }
  if (scenario === "token" && !req.headers.cookie?.includes("sightline_mock=1")) return fail(res, 401, "unauthorized", "this server asks for a token", "token_missing", "sign in with the console token");
  const own = path.replace("/api/v1/sightline/", "");
  if (scenario === "starting") return fail(res, 503, "unavailable", "the server is starting", "starting", "try again in a moment; /readyz tells what it waits for");
  if (scenario === "broken" && own !== "status") return fail(res, 500, "internal", "query processing would load too many samples into memory in query execution", "query_too_large", "choose a shorter range or a longer step");
  const opt = (name: string) => (p.get(name) ? { [name]: p.get(name) as string } : {});
  switch (own) {
    case "now":
      return ok(res, world.now(scenario, num(p, "at", at), num(p, "window", 3600), num(p, "points", 60)));
    case "series": {
      const step = num(p, "step", 15);
      if ((num(p, "to", at) - num(p, "from", at - 3600)) / step > 11_000) return fail(res, 400, "bad_data", "more than 11000 points per series", "too_many_points", "ask for a longer step");
      return ok(res, world.series(scenario, { signals: p.getAll("signal"), ...opt("service"), ...opt("model"), ...opt("version"), ...opt("instance"), ...opt("node"), ...opt("gpu"), ...opt("by"), from: num(p, "from", at - 3600), to: num(p, "to", at), step }));
    }
    case "hardware":
      return ok(res, world.hardware(scenario, num(p, "at", at)));
    case "signals":
      return ok(res, world.signalList(scenario, { ...opt("service"), ...opt("model") }));
    case "status":
      return ok(res, world.status(scenario, at));
    case "config":
      return reply(res, 200, world.config, "application/yaml");
  }
  const expr = p.get("query") ?? "";
  const values = /^\/api\/v1\/label\/([^/]+)\/values$/.exec(path);
  if (values) return ok(res, prom.labelValues(decodeURIComponent(values[1] ?? "")));
  switch (path) {
    case "/api/v1/query":
    case "/api/v1/query_range": {
      const bad = prom.parseError(expr);
      if (bad) return fail(res, 400, "bad_data", bad);
      if (path.endsWith("range")) return ok(res, prom.range(expr, num(p, "start", at - 3600), num(p, "end", at), num(p, "step", 15)));
      return ok(res, prom.instant(expr, num(p, "time", at)));
    }
    case "/api/v1/labels":
      return ok(res, prom.labels());
    case "/api/v1/metadata":
      return ok(res, Object.fromEntries(Object.entries(prom.metrics).map(([k, v]) => [k, [{ ...v, unit: "" }]])));
    case "/api/v1/series":
      return ok(res, Object.keys(prom.metrics).map((name) => ({ __name__: name, service: "vision", model: "resnet_mini", instance: "demo/vision-0" })));
    case "/api/v1/status/flags":
      return ok(res, {});
  }
  return fail(res, 404, "not_found", `no endpoint at ${path}`, "not_found");
}

function handler(withCsp: boolean): Connect.NextHandleFunction {
  return (req, res, next) => {
    const url = new URL(req.url ?? "/", "http://mock");
    if (url.pathname.startsWith("/api/") || url.pathname === "/readyz" || url.pathname === "/healthz") {
      answer(req, res, url).catch((e: unknown) => fail(res, 500, "internal", e instanceof Error ? e.message : String(e)));
      return;
    }
    // the built console must work under the server's policy
    if (withCsp) res.setHeader("Content-Security-Policy", csp);
    next();
  };
}

export function mockServer(): Plugin {
  return {
    name: "sightline-mock",
    configureServer(server) {
      server.middlewares.use(handler(false));
    },
    configurePreviewServer(server) {
      server.middlewares.use(handler(true));
    },
  };
}
