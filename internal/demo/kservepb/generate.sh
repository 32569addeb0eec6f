#!/bin/sh
# Generates the Go code of kserve.proto. Needs protoc (Debian: protobuf-compiler)
# and go; the plugins are built into a temporary folder in fixed versions.
set -eu
command -v protoc >/dev/null || { echo "generate.sh: protoc is missing; install Debian's protobuf-compiler" >&2; exit 1; }
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
GOBIN="$bin" go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN="$bin" go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
PATH="$bin:$PATH" protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative kserve.proto
