// The charts beside the grid: one card over the page's window.
import type { Ask, Chart } from "@/views/chart";

export const gpuCharts: readonly Chart[] = [
  { id: "gpu_busy", section: "gpu", kind: "lines", lines: [{ id: "busy", signal: "gpu:busy:ratio", slot: 1 }] },
  {
    id: "gpu_memory",
    section: "gpu",
    kind: "lines",
    lines: [
      { id: "used", signal: "gpu:memory_used_bytes:last", slot: 7 },
      { id: "total", signal: "gpu:memory_total_bytes:last", slot: 20, limit: true, stepped: true },
    ],
  },
  {
    id: "gpu_power",
    section: "gpu",
    kind: "lines",
    lines: [
      { id: "power", signal: "gpu:power_watts:mean", slot: 2 },
      { id: "power_limit", signal: "gpu:power_limit_watts:last", slot: 20, limit: true, stepped: true },
    ],
  },
  { id: "gpu_temperature", section: "gpu", kind: "lines", lines: [{ id: "temperature", signal: "gpu:temperature_celsius:max", slot: 8 }] },
  {
    id: "gpu_clock",
    section: "gpu",
    kind: "lines",
    lines: [
      { id: "clock", signal: "gpu:sm_clock_hertz:mean", slot: 5 },
      { id: "clock_max", signal: "gpu:sm_clock_max_hertz:last", slot: 20, limit: true, stepped: true },
    ],
  },
  { id: "gpu_limited", section: "gpu", kind: "lines", label: "reason", lines: [{ id: "limited", signal: "gpu:clock_limited:ratio" }] },
  { id: "gpu_xid", section: "gpu", kind: "lines", label: "code", lines: [{ id: "xid", signal: "gpu:xid:rate" }] },
];

export const gpuAsks: readonly Ask[] = [{ signals: gpuCharts.flatMap((c) => c.lines.map((l) => l.signal)) }];
