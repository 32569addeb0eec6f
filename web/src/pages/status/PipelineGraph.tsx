import { useT } from "@/i18n";
import { cx } from "@/kit/basics";
import type { Pipeline, PipeNode } from "./pipeline";

const box = { w: 176, h: 44 };
const gap = { x: 128, y: 10 };
const stroke: Record<PipeNode["tone"], string> = { good: "stroke-good", warn: "stroke-warn", bad: "stroke-bad", neutral: "stroke-line-strong" };

/** Sources, guard, store, readers, left to right, with what flows between them now. */
export function PipelineGraph(p: { pipeline: Pipeline }) {
  const t = useT();
  const at = (n: PipeNode) => ({ x: 1 + n.column * (box.w + gap.x), y: 1 + n.lane * (box.h + gap.y) });
  const columns = Math.max(...p.pipeline.nodes.map((n) => n.column)) + 1;
  const lanes = Math.max(...p.pipeline.nodes.map((n) => n.lane)) + 1;
  const width = columns * box.w + (columns - 1) * gap.x + 2;
  const height = lanes * box.h + (lanes - 1) * gap.y + 2;
  const byId = new Map(p.pipeline.nodes.map((n) => [n.id, n]));
  return (
    <svg viewBox={`0 0 ${width} ${height}`} style={{ width, minWidth: width * 0.85, maxWidth: "100%" }} className="block" role="img" aria-label={t("status.pipe.title")} data-testid="pipeline">
      {p.pipeline.edges.map((e) => {
        const [from, to] = [byId.get(e.from), byId.get(e.to)];
        if (!from || !to) return null;
        const [a, b] = [at(from), at(to)];
        const [x1, y1, x2, y2] = [a.x + box.w, a.y + box.h / 2, b.x, b.y + box.h / 2];
        const mid = (x1 + x2) / 2;
        return (
          <g key={`${e.from}-${e.to}`}>
            <path d={`M${x1} ${y1}C${mid} ${y1} ${mid} ${y2} ${x2 - 5} ${y2}`} fill="none" className={e.flows ? "stroke-accent" : "stroke-line-strong"} strokeWidth={1.5} strokeDasharray={e.flows ? undefined : "3 3"} />
            <path d={`M${x2 - 7} ${y2 - 3.5}L${x2 - 1} ${y2}L${x2 - 7} ${y2 + 3.5}`} fill="none" className={e.flows ? "stroke-accent" : "stroke-line-strong"} strokeWidth={1.5} />
            {e.label && (
              <text x={x1 + 8} y={y1 - 5} className="fill-muted text-2xs">
                {e.label}
              </text>
            )}
          </g>
        );
      })}
      {p.pipeline.nodes.map((n) => {
        const { x, y } = at(n);
        return (
          <g key={n.id}>
            <rect x={x} y={y} width={box.w} height={box.h} rx={4} className={cx("fill-surface", stroke[n.tone])} strokeWidth={1} />
            <text x={x + 10} y={y + 18} className="fill-muted text-2xs">
              {t(n.words)}
            </text>
            <text x={x + 10} y={y + 36} className="fill-text font-semibold">
              {n.value}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
