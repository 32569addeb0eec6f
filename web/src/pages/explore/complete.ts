// When the editor offers words by itself.

/**
 * Whether what stands before the cursor asks for a word: one is being written, or a bracket, a comma or a matcher
 * waits for one. After a whole expression there is nothing to offer until the reader asks.
 */
export function asksForWords(before: string, explicit: boolean): boolean {
  return explicit || /(?:[\w:]|[{(,"'`]|=~|[^=]=)$/.test(before);
}
