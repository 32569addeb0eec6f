// Package accuracy is the acceptance gate for the numbers that people see: it
// runs the demo's real engines under load, lets the whole path from exposition
// to canonical series work at its real pace, and compares every value of the
// Model page with the same quantity computed from the load generator's own
// log. It holds tests only; go test -run TestAccuracy takes about two minutes,
// go test -short leaves it out. The times of a busy machine are not those of
// the tests' subject, so it wants two cores for itself.
package accuracy
