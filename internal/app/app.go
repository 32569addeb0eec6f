// Package app composes the roles of Sightline (up, serve, demo, agent) from the
// other packages and is the only reader of flags, environment and configuration
// files. Its wiring reads in the order of the way of data: sources, ingest,
// stores, query, rules, API, console.
package app

// Version is the product's version, set by the linker.
var Version = "0.1.0-dev"

// Role says how a process was started.
type Role string

// The roles that a process can have.
const (
	RoleUp    Role = "up"
	RoleServe Role = "serve"
	RoleDemo  Role = "demo"
	RoleAgent Role = "agent"
)
