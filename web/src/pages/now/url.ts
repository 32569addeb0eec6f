// Address of the Now page: q filters, sort orders (a leading minus: greatest
// first), sel is the selected row.
import { textParam, type Codec, type Param } from "@/state/url";
import { defaultSort, isSortColumn, type Sort } from "./rows";

export interface NowState {
  q: string;
  sort: Sort;
  sel: string;
}

const sort: Param<Sort> = {
  key: "sort",
  fallback: defaultSort,
  parse: (t) => {
    const column = t.replace(/^-/, "");
    return isSortColumn(column) ? { column, descending: t.startsWith("-") } : undefined;
  },
  format: (v) => (v.descending ? "-" : "") + v.column,
};

export const nowCodec: Codec<NowState> = { q: textParam("q"), sort, sel: textParam("sel") };
