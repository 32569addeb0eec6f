// @vitest-environment jsdom
import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError, type Answer } from "@/api/client";
import type { Result } from "@/api/useApi";
import { ErrorState, FilteredOut, GapRibbon, PartList, QueryView, SignalAbsent } from "./states";

vi.mock("@/api/useApi", () => ({ useStatus: () => ({ data: undefined, error: null }), useStarting: () => starting }));
let starting: { name: string; state: "starting" | "ready"; since: string }[] | null = null;

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

let host: HTMLElement;
let root: Root;

beforeEach(() => {
  vi.useFakeTimers();
  starting = null;
  host = document.createElement("div");
  document.body.append(host);
  root = createRoot(host);
});

afterEach(() => {
  act(() => root.unmount());
  host.remove();
  vi.useRealTimers();
});

function show(node: ReactNode): void {
  act(() => root.render(node));
}

function result(over: Partial<{ data: Answer<string>; error: ApiError | null; isPlaceholderData: boolean }>): Result<string> {
  return { data: undefined, error: null, isPlaceholderData: false, refetch: vi.fn(), ...over } as unknown as Result<string>;
}

const view = (r: Result<string>) => <QueryView result={r}>{(d) => <p>{d}</p>}</QueryView>;
const answer = { data: "42", warnings: [] };

describe("waiting", () => {
  it("shows nothing for 200 ms, then a skeleton", () => {
    show(view(result({})));
    expect(host.innerHTML).toBe("");
    act(() => void vi.advanceTimersByTime(199));
    expect(host.innerHTML).toBe("");
    act(() => void vi.advanceTimersByTime(1));
    expect(host.querySelector('[data-state="loading"]')).not.toBeNull();
  });

  it("keeps old data, dimmed, while data for a new question loads", () => {
    show(view(result({ data: answer, isPlaceholderData: true })));
    expect(host.textContent).toBe("42");
    expect(host.querySelector("[aria-busy=true]")?.className).toMatch(/opacity/);
    show(view(result({ data: answer })));
    expect(host.querySelector("[aria-busy=false]")?.className).not.toMatch(/opacity/);
  });
});

describe("trouble", () => {
  const refused = new ApiError("too many points", "too_many_points", "GET /x?step=1", 400, "ask for a longer step");

  it("keeps old data and says that it could not be refreshed", () => {
    show(view(result({ data: answer, error: refused })));
    expect(host.textContent).toContain("42");
    expect(host.querySelector("[role=alert]")?.textContent).toContain("Could not refresh");
  });

  it("leaves silence of the whole server to the banner", () => {
    show(view(result({ data: answer, error: new ApiError("fetch failed", "unreachable", "GET /x", 0) })));
    expect(host.querySelector("[role=alert]")).toBeNull();
  });

  it("says what was asked, what failed, the code and what to do", () => {
    const retry = vi.fn();
    show(<ErrorState error={refused} retry={retry} />);
    for (const part of ["GET /x?step=1", "too many points", "too_many_points (400)", "ask for a longer step"]) expect(host.textContent).toContain(part);
    act(() => host.querySelector("button")?.click());
    expect(retry).toHaveBeenCalledOnce();
  });

  it("shows the parts while the server starts", () => {
    starting = [{ name: "metricstore", state: "starting", since: "" }];
    show(view(result({ error: new ApiError("the server is starting", "starting", "GET /x", 503) })));
    expect(host.querySelector('[data-state="starting"]')?.textContent).toContain("metricstore");
  });
});

describe("absent, filtered, partial", () => {
  it("says why a signal is absent and what would give it", () => {
    show(<SignalAbsent reason={{ code: "new_code", text: "not in this version", remedy: "upgrade to 9" }} instead="the mean" />);
    for (const part of ["not in this version", "upgrade to 9", "the mean"]) expect(host.textContent).toContain(part);
  });

  it("says how many there are without each filter and removes one", () => {
    const remove = vi.fn();
    show(<FilteredOut filters={[{ label: "service: x", countWithout: 7, remove }]} clear={() => undefined} />);
    expect(host.textContent).toContain("7");
    act(() => host.querySelector("button")?.click());
    expect(remove).toHaveBeenCalledOnce();
  });

  it("draws gaps where they are, cut to the window, and none outside", () => {
    show(
      <GapRibbon
        zone="utc"
        window={{ from: 100, to: 200 }}
        gaps={[
          { from: 150, to: 175, reason: "scrape_failed" },
          { from: 50, to: 120, reason: "x" },
          { from: 300, to: 400, reason: "x" },
        ]}
      />,
    );
    const spans = [...host.querySelectorAll<HTMLElement>("[data-state=partial] > span")].map((s) => [s.style.left, s.style.width]);
    expect(spans).toEqual([["50%", "25%"], ["0%", "20%"]]);
  });

  it("draws nothing when nothing is missing", () => {
    show(<GapRibbon zone="utc" window={{ from: 0, to: 1 }} gaps={[]} />);
    expect(host.innerHTML).toBe("");
  });

  it("names each part's state", () => {
    show(<PartList parts={[{ name: "ruler", state: "degraded", text: "2 rules fail", since: "" }]} />);
    expect(host.textContent).toMatch(/ruler.*degraded.*2 rules fail/);
  });
});
