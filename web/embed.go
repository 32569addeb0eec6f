// Package web embeds the built console. Without Node a committed placeholder
// page is embedded instead, so that Go always builds.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist all:placeholder
var files embed.FS

// FS returns the console's files with index.html at the root, and whether they
// are the real console or the placeholder.
func FS() (root fs.FS, built bool) {
	dir := "dist"
	if _, err := fs.Stat(files, "dist/index.html"); err != nil {
		dir = "placeholder"
	}
	sub, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // the folder is embedded; it cannot be missing
	}
	return sub, dir == "dist"
}
