package kservepb

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// message builds a message from field numbers alone, as a client whose code
// was generated from the official protocol would send it.
type message struct{ b []byte }

func (m *message) bytes(field protowire.Number, v []byte) *message {
	m.b = protowire.AppendBytes(protowire.AppendTag(m.b, field, protowire.BytesType), v)
	return m
}
func (m *message) str(field protowire.Number, v string) *message { return m.bytes(field, []byte(v)) }
func (m *message) num(field protowire.Number, v uint64) *message {
	m.b = protowire.AppendVarint(protowire.AppendTag(m.b, field, protowire.VarintType), v)
	return m
}
func (m *message) packed(field protowire.Number, vs ...uint64) *message {
	var p []byte
	for _, v := range vs {
		p = protowire.AppendVarint(p, v)
	}
	return m.bytes(field, p)
}
func msg() *message { return &message{} }

// The numbers are the protocol's: ModelInferRequest is model_name 1,
// model_version 2, id 3, parameters 4, inputs 5, outputs 6, raw_input_contents 7.
func TestInferRequestHasTheProtocolsFieldNumbers(t *testing.T) {
	parameter := msg().str(1, "timeout").bytes(2, msg().num(2, 250).b)
	contents := msg().bytes(6, []byte{0, 0, 128, 63}) // one packed float, 1.0
	tensor := msg().str(1, "input").str(2, "FP32").packed(3, 1, 3, 8, 8).bytes(5, contents.b)
	output := msg().str(1, "logits").bytes(2, msg().str(1, "classification").bytes(2, msg().num(2, 3).b).b)
	wire := msg().str(1, "m").str(2, "7").str(3, "id-1").bytes(4, parameter.b).bytes(5, tensor.b).bytes(6, output.b).bytes(7, []byte("raw"))
	var q ModelInferRequest
	if err := proto.Unmarshal(wire.b, &q); err != nil {
		t.Fatal(err)
	}
	if q.ModelName != "m" || q.ModelVersion != "7" || q.Id != "id-1" || q.Parameters["timeout"].GetInt64Param() != 250 || string(q.RawInputContents[0]) != "raw" {
		t.Errorf("request %v", &q)
	}
	in := q.Inputs[0]
	if in.Name != "input" || in.Datatype != "FP32" || len(in.Shape) != 4 || in.Shape[1] != 3 || in.Contents.Fp32Contents[0] != 1 {
		t.Errorf("input %v", in)
	}
	if o := q.Outputs[0]; o.Name != "logits" || o.Parameters["classification"].GetInt64Param() != 3 {
		t.Errorf("output %v", o)
	}
	if len(q.ProtoReflect().GetUnknown()) != 0 {
		t.Error("a field of the protocol is unknown")
	}
}

// ModelInferResponse is model_name 1, model_version 2, id 3, parameters 4,
// outputs 5, raw_output_contents 6.
func TestInferResponseHasTheProtocolsFieldNumbers(t *testing.T) {
	got, err := proto.MarshalOptions{Deterministic: true}.Marshal(&ModelInferResponse{ModelName: "m", ModelVersion: "1", Id: "x",
		Parameters:        map[string]*InferParameter{"queue_us": {ParameterChoice: &InferParameter_Int64Param{Int64Param: 9}}},
		Outputs:           []*ModelInferResponse_InferOutputTensor{{Name: "p", Datatype: "FP32", Shape: []int64{1, 2}}},
		RawOutputContents: [][]byte{{1, 2}}})
	if err != nil {
		t.Fatal(err)
	}
	want := msg().str(1, "m").str(2, "1").str(3, "x").bytes(4, msg().str(1, "queue_us").bytes(2, msg().num(2, 9).b).b).
		bytes(5, msg().str(1, "p").str(2, "FP32").packed(3, 1, 2).b).bytes(6, []byte{1, 2})
	if !bytes.Equal(got, want.b) {
		t.Errorf("wire form %x, want %x", got, want.b)
	}
}

func TestServiceHasTheProtocolsNames(t *testing.T) {
	if GRPCInferenceService_ServiceDesc.ServiceName != "inference.GRPCInferenceService" {
		t.Errorf("service %s", GRPCInferenceService_ServiceDesc.ServiceName)
	}
	if GRPCInferenceService_ModelInfer_FullMethodName != "/inference.GRPCInferenceService/ModelInfer" {
		t.Errorf("method %s", GRPCInferenceService_ModelInfer_FullMethodName)
	}
	have := map[string]bool{}
	for _, m := range GRPCInferenceService_ServiceDesc.Methods {
		have[m.MethodName] = true
	}
	for _, m := range []string{"ServerLive", "ServerReady", "ModelReady", "ServerMetadata", "ModelMetadata", "ModelInfer", "ModelConfig", "ModelStatistics", "RepositoryIndex", "RepositoryModelLoad", "RepositoryModelUnload"} {
		if !have[m] {
			t.Errorf("the service lacks %s", m)
		}
	}
}
