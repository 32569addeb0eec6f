// Package query is the one reading face over the stores: it answers what the
// console and the API ask in canonical signals, reads what the live rules have
// recorded, fills holes by evaluating the same expression over the native
// series, keeps budgets, and says with every number where it comes from and,
// when there is none, why and what would give it.
package query
