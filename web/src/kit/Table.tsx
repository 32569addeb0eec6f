// A dense table with sortable headers and virtual rows: 10,000 rows scroll
// without a hitch. Columns share one grid template, so header and rows align.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useT } from "@/i18n";
import { useAction } from "@/state/useAction";
import type { Sort } from "@/state/url";
import { cx } from "./basics";

export interface Column<R> {
  id: string;
  /** Header words; with the unit. */
  header: ReactNode;
  /** Plain words of the header for readers by ear, when header is not text. */
  label?: string;
  /** CSS grid track: "80px", "minmax(120px,1fr)". */
  width: string;
  /** Numbers stand right. */
  right?: boolean;
  cell: (row: R) => ReactNode;
  title?: (row: R) => string | undefined;
  /** What sorting compares; a missing value sorts last either way. */
  sort?: (row: R) => number | string | null | undefined;
}

export interface TableProps<R> {
  label: string;
  rows: readonly R[];
  columns: readonly Column<R>[];
  rowId: (row: R) => string;
  sort?: Sort;
  onSort?: (sort: Sort) => void;
  selected?: string | null;
  /** Click and Enter on the row under the cursor. */
  onOpen?: (row: R) => void;
  rowHeight?: number;
  /** Tallest it grows before it scrolls; "fill" takes its parent's height. */
  maxHeight?: number | "fill";
  empty?: ReactNode;
  /** j, k and Enter move in this table; at most one per page. */
  keyboard?: boolean;
  minWidth?: number;
}

/** Stable order; missing values last. */
export function sortRows<R>(rows: readonly R[], columns: readonly Column<R>[], sort: Sort | undefined): readonly R[] {
  const by = sort && columns.find((c) => c.id === sort.by)?.sort;
  if (!sort || !by) return rows;
  const sign = sort.descending ? -1 : 1;
  return rows
    .map((row, i) => ({ row, i, key: by(row) }))
    .sort((a, b) => {
      const am = a.key === null || a.key === undefined || Number.isNaN(a.key);
      const bm = b.key === null || b.key === undefined || Number.isNaN(b.key);
      if (am || bm) return am && bm ? a.i - b.i : am ? 1 : -1;
      if (typeof a.key === "number" && typeof b.key === "number") return (a.key - b.key) * sign || a.i - b.i;
      return String(a.key).localeCompare(String(b.key), undefined, { numeric: true }) * sign || a.i - b.i;
    })
    .map((x) => x.row);
}

export function Table<R>(p: TableProps<R>) {
  const t = useT();
  const height = p.rowHeight ?? 30;
  const scroll = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const rows = useMemo(() => sortRows(p.rows, p.columns, p.sort), [p.rows, p.columns, p.sort]);
  const template = useMemo(() => p.columns.map((c) => c.width).join(" "), [p.columns]);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroll.current, estimateSize: () => height, overscan: 12 });

  const at = rows.findIndex((r) => p.rowId(r) === cursor);
  const move = (step: 1 | -1) => {
    const next = rows[Math.min(Math.max(at + step, 0), rows.length - 1)];
    if (next === undefined) return;
    setCursor(p.rowId(next));
    virtual.scrollToIndex(rows.indexOf(next));
  };
  useAction("row.next", () => move(1), p.keyboard ?? false);
  useAction("row.previous", () => move(-1), p.keyboard ?? false);
  useAction("row.open", () => rows[at] !== undefined && p.onOpen?.(rows[at] as R), (p.keyboard ?? false) && p.onOpen !== undefined);
  useEffect(() => {
    if (cursor !== null && at < 0) setCursor(null);
  }, [cursor, at]);

  return (
    <div
      ref={scroll}
      role="table"
      aria-label={p.label}
      aria-rowcount={rows.length}
      className={cx("min-w-0 overflow-auto", p.maxHeight === "fill" && "h-full")}
      style={p.maxHeight === "fill" ? undefined : { maxHeight: p.maxHeight ?? 640 }}
    >
      <div style={{ minWidth: p.minWidth }}>
        <div role="row" className="sticky top-0 z-10 grid h-7 items-center border-b border-line bg-raised px-3 text-2xs text-muted" style={{ gridTemplateColumns: template }}>
          {p.columns.map((c) => (
            <ColumnHeader key={c.id} column={c} sort={p.sort} onSort={p.onSort} />
          ))}
        </div>
        {rows.length === 0 && <div className="px-3 py-3 text-muted">{p.empty ?? t("kit.table.empty")}</div>}
        <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index] as R;
            const id = p.rowId(row);
            return (
              <div
                key={id}
                role="row"
                aria-rowindex={item.index + 1}
                aria-selected={p.selected === id}
                data-row={id}
                onClick={p.onOpen ? () => p.onOpen?.(row) : undefined}
                className={cx(
                  "absolute inset-x-0 grid items-center border-b border-line px-3",
                  p.onOpen && "cursor-pointer",
                  p.selected === id ? "bg-selected" : cursor === id ? "bg-hover outline outline-1 -outline-offset-1 outline-accent" : "hover:bg-hover",
                )}
                style={{ gridTemplateColumns: template, height, transform: `translateY(${item.start}px)` }}
              >
                {p.columns.map((c) => (
                  <div key={c.id} role="cell" title={c.title?.(row)} className={cx("min-w-0 truncate pr-3 last:pr-0", c.right && "text-right")}>
                    {c.cell(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function ColumnHeader<R>(p: { column: Column<R>; sort: Sort | undefined; onSort: ((s: Sort) => void) | undefined }) {
  const t = useT();
  const { column: c, sort } = p;
  const on = sort?.by === c.id;
  const label = c.label ?? (typeof c.header === "string" ? c.header : c.id);
  return (
    <div role="columnheader" aria-sort={on ? (sort.descending ? "descending" : "ascending") : undefined} className={cx("min-w-0 truncate pr-3 last:pr-0", c.right && "text-right")}>
      {c.sort && p.onSort ? (
        <button
          type="button"
          aria-label={t("kit.table.sort", { column: label })}
          // numbers are asked for from the top, names from the start
          onClick={() => p.onSort?.({ by: c.id, descending: on ? !sort.descending : (c.right ?? false) })}
          className={cx("max-w-full truncate hover:text-text", on && "font-semibold text-text")}
        >
          {c.header}
          {on && <span aria-hidden>{sort.descending ? " ↓" : " ↑"}</span>}
        </button>
      ) : (
        c.header
      )}
    </div>
  );
}
