import { afterEach, describe, expect, it, vi } from "vitest";
import { ApiError, ask, askText, onTokenMissing, queryText } from "./client";

function answer(status: number, body: unknown, headers: Record<string, string> = {}): void {
  vi.stubGlobal("fetch", vi.fn(async () => new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers })));
}

async function failure(p: Promise<unknown>): Promise<ApiError> {
  try {
    await p;
  } catch (e) {
    if (e instanceof ApiError) return e;
    throw e;
  }
  throw new Error("expected a failure");
}

afterEach(() => vi.unstubAllGlobals());

describe("one policy for errors", () => {
  it("gives data and warnings of a success", async () => {
    answer(200, { status: "success", data: [1], warnings: ["w"], infos: ["i"] });
    expect(await ask("/x")).toEqual({ data: [1], warnings: ["w", "i"] });
  });

  it("keeps the server's sentence, code and hint, and what was asked", async () => {
    answer(400, { status: "error", errorType: "bad_data", error: "too many points", code: "too_many_points", hint: "longer step" });
    expect(await failure(ask("/x", { query: { signal: ["a", "b"], step: 5, none: undefined } }))).toMatchObject({
      message: "too many points",
      code: "too_many_points",
      hint: "longer step",
      request: "GET /x?signal=a&signal=b&step=5",
      status: 400,
      transient: false,
    });
  });

  it("takes Prometheus' errorType for the code", async () => {
    answer(422, { status: "error", errorType: "execution", error: "boom" });
    expect(await failure(ask("/x", { form: { query: "up" } }))).toMatchObject({ code: "execution", request: "POST /x query=up" });
  });

  it("does not take a page of HTML for an answer", async () => {
    answer(200, "<html>");
    expect(await failure(ask("/x"))).toMatchObject({ code: "bad_answer" });
    answer(502, "<html>");
    expect(await failure(ask("/x"))).toMatchObject({ code: "http_502" });
  });

  it("says unreachable when nobody answers, and passes an abort on", async () => {
    vi.stubGlobal("fetch", vi.fn(async () => Promise.reject(new TypeError("fetch failed"))));
    expect(await failure(ask("/x"))).toMatchObject({ code: "unreachable", status: 0, transient: true });
    const stop = new AbortController();
    stop.abort();
    await expect(ask("/x", { signal: stop.signal })).rejects.not.toBeInstanceOf(ApiError);
  });

  it("tells the shell that a token is needed, also for plain text", async () => {
    const seen = vi.fn();
    const off = onTokenMissing(seen);
    answer(401, { status: "error", errorType: "unauthorized", error: "no token", code: "token_missing" });
    expect(await failure(ask("/x"))).toMatchObject({ code: "token_missing" });
    expect(await failure(askText("/x"))).toMatchObject({ code: "token_missing" });
    answer(401, "");
    expect(await failure(ask("/x"))).toMatchObject({ code: "token_missing" });
    off();
    await failure(ask("/x"));
    expect(seen).toHaveBeenCalledTimes(3);
  });
});

describe("queries", () => {
  it("leave out what is not set and keep zero", () => {
    expect(queryText({ a: 0, b: "", c: null, d: undefined, e: "x y" })).toBe("a=0&e=x+y");
  });
});
