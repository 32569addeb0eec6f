// The grid as a table: for readers by ear always, for everyone on request.
import type { HardwareNode, Value } from "@/api/types";
import { useT, type Translate } from "@/i18n";
import { cx, Simulated } from "@/kit/basics";
import { bytes, digits, hertz, missing, percent } from "@/kit/format";
import { reasonText, remedyText } from "@/views/words";
import { cellModel } from "./cells";

interface Props {
  nodes: readonly HardwareNode[];
  visible: boolean;
  selected: string;
  onSelect: (gpu: string) => void;
}

function why(t: Translate, v: Value | undefined): string | undefined {
  return v?.reason ? [reasonText(t, v.reason), remedyText(t, v.reason)].filter(Boolean).join("\n") : undefined;
}

export function GpuTable({ nodes, visible, selected, onSelect }: Props) {
  const t = useT();
  const head = ["node", "gpu", "busy", "memory", "temperature", "power", "clock", "limited", "xid", "models"] as const;
  return (
    <div className={visible ? "" : "sr-only"} data-twin="hardware">
      <table className="w-full border-collapse text-right tabular-nums">
        <caption className="sr-only">{t("hardware.grid")}</caption>
        <thead className={visible ? "sticky top-0 bg-raised text-2xs text-muted" : ""}>
          <tr>
            {head.map((h, i) => (
              <th key={h} scope="col" className={cx("h-8 px-3 font-normal", (i < 2 || h === "models") && "text-left")}>
                {t(`hardware.column.${h}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {nodes.flatMap((n) =>
            n.gpus.map((g) => {
              const m = cellModel(g, "busy");
              const cells: [string, Value | undefined][] = [
                [percent(g.busy?.value), g.busy],
                [g.memory_used_bytes?.value == null ? missing : `${bytes(g.memory_used_bytes.value)} / ${bytes(g.memory_total_bytes?.value)}`, g.memory_used_bytes],
                [g.temperature_celsius?.value == null ? missing : `${digits(g.temperature_celsius.value)} °C`, g.temperature_celsius],
                [g.power_watts?.value == null ? missing : `${digits(g.power_watts.value)} / ${digits(g.power_limit_watts?.value)} W`, g.power_watts],
                [hertz(g.sm_clock_hertz?.value), g.sm_clock_hertz],
                [percent(m.limited), g.clock_limited],
                [g.xid?.value == null ? missing : g.xid.value > 0 ? `${digits(g.xid.value)}/s` : "0", g.xid],
              ];
              return (
                <tr key={g.gpu} aria-selected={g.gpu === selected} onClick={() => onSelect(g.gpu)} className={cx("h-8 border-t border-line hover:bg-hover", g.gpu === selected && "bg-selected")}>
                  <td className="px-3 text-left">{n.node}</td>
                  <th scope="row" className="px-3 text-left font-normal" title={g.gpu}>
                    <span className="inline-flex items-center gap-2">
                      <button type="button" tabIndex={visible ? 0 : -1} onClick={() => onSelect(g.gpu)}>
                        {t("hardware.card", { index: g.gpu_index ?? "" })}
                      </button>
                      {g.simulated && <Simulated />}
                    </span>
                  </th>
                  {cells.map(([text, v], i) => (
                    <td key={head[i + 2]} className={cx("px-3", text === missing && "text-faint")} title={text === missing ? why(t, v) : undefined}>
                      {text}
                    </td>
                  ))}
                  <td className="px-3 text-left text-muted">{g.models.join(", ")}</td>
                </tr>
              );
            }),
          )}
        </tbody>
      </table>
    </div>
  );
}
