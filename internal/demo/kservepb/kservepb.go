// Package kservepb holds the messages and the gRPC service of the KServe v2
// inference protocol with Triton's extensions for configuration, statistics and
// the model repository, generated from kserve.proto.
package kservepb

//go:generate sh generate.sh
