// A sparkline as one SVG path: shape only, from zero, gaps open.
import { memo, useMemo } from "react";
import type { Num } from "./align";
import { slotVar } from "./look";

export interface SparkPaths {
  readonly line: string;
  readonly area: string;
}

/** Path data of a sparkline from zero to the greatest value. A lone point is a short dash. */
export function sparkPaths(values: readonly Num[], width: number, height: number): SparkPaths {
  let max = 0;
  for (const v of values) if (v !== null && v > max) max = v;
  const n = values.length;
  if (n === 0) return { line: "", area: "" };
  const x = (i: number) => (n === 1 ? width / 2 : (i / (n - 1)) * width);
  const y = (v: number) => (max === 0 ? height - 0.75 : height - 0.75 - (v / max) * (height - 1.5));
  const text = (a: number) => a.toFixed(1);
  let line = "";
  let area = "";
  for (let i = 0; i < n; i++) {
    if (values[i] == null) continue;
    let j = i;
    while (j + 1 < n && values[j + 1] != null) j++;
    if (j === i) line += `M${text(Math.max(0, x(i) - 1))} ${text(y(values[i] ?? 0))}h2`;
    else {
      for (let k = i; k <= j; k++) line += `${k === i ? "M" : "L"}${text(x(k))} ${text(y(values[k] ?? 0))}`;
      area += `M${text(x(i))} ${text(height)}`;
      for (let k = i; k <= j; k++) area += `L${text(x(k))} ${text(y(values[k] ?? 0))}`;
      area += `L${text(x(j))} ${text(height)}Z`;
    }
    i = j;
  }
  return { line, area };
}

interface Props {
  values: readonly Num[];
  width?: number;
  height?: number;
  slot?: number;
  label: string;
}

export const Sparkline = memo(function Sparkline({ values, width = 120, height = 22, slot = 1, label }: Props) {
  const paths = useMemo(() => sparkPaths(values, width, height), [values, width, height]);
  return (
    <svg role="img" aria-label={label} width={width} height={height} viewBox={`0 0 ${width} ${height}`} className="block max-w-full" preserveAspectRatio="none">
      <path d={paths.area} fill={slotVar(slot)} opacity={0.14} />
      <path d={paths.line} fill="none" stroke={slotVar(slot)} strokeWidth={1.25} vectorEffect="non-scaling-stroke" />
    </svg>
  );
});
