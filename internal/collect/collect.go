// Package collect is the agent's side of the product: whatever brings facts
// from engines, cards and hosts. Each source lives in a folder of its own
// (scrape so far) with the same life: New validates, Run works until its
// context ends, and what cannot be collected is a status with a code and a
// health condition, never silence. Collectors write to interfaces, so that the
// same code feeds a store in this process or a spool towards a server; nothing
// here may import the store.
package collect
