// Fuzzy search of the palette: letters in order, better when they start words
// or stand together.

export interface Candidate {
  id: string;
  words: string;
  /** More text to find it by: other names, ids. */
  also?: string;
}

/** Higher is better; null when the letters of the query do not occur in order. */
export function score(query: string, text: string): number | null {
  const q = query.toLowerCase().replace(/\s+/g, "");
  const s = text.toLowerCase();
  if (q === "") return 0;
  let total = 0;
  let at = 0;
  let run = 0;
  for (const letter of q) {
    const found = s.indexOf(letter, at);
    if (found < 0) return null;
    const together = found === at && at > 0;
    run = together ? run + 1 : 0;
    const startsWord = found === 0 || /[\s/:._-]/.test(s[found - 1] ?? "");
    total += 1 + (startsWord ? 4 : 0) + run * 2 - Math.min(found - at, 10) * 0.2;
    at = found + 1;
  }
  return total - s.length * 0.01;
}

/** Those that match, best first; all in their order for an empty query. */
export function search<C extends Candidate>(query: string, candidates: readonly C[], limit = 50): C[] {
  if (query.trim() === "") return candidates.slice(0, limit);
  return candidates
    .flatMap((c) => {
      const own = score(query, c.words);
      const also = c.also ? score(query, c.also) : null;
      const best = Math.max(own ?? -Infinity, also === null ? -Infinity : also - 2);
      return Number.isFinite(best) ? [{ c, best }] : [];
    })
    .sort((a, b) => b.best - a.best)
    .slice(0, limit)
    .map((x) => x.c);
}
