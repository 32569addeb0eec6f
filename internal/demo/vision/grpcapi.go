package vision

import (
	"context"
	"fmt"
	"time"

	rpcstats "google.golang.org/grpc/stats"

	"sightline/internal/demo/kservepb"
)

// grpcAPI serves the gRPC form of the protocol.
type grpcAPI struct {
	kservepb.UnimplementedGRPCInferenceServiceServer
	repo *repository
}

// ServerLive answers true: a server that answers lives.
func (g *grpcAPI) ServerLive(context.Context, *kservepb.ServerLiveRequest) (*kservepb.ServerLiveResponse, error) {
	return &kservepb.ServerLiveResponse{Live: true}, nil
}

// ServerReady reports whether every model is ready.
func (g *grpcAPI) ServerReady(context.Context, *kservepb.ServerReadyRequest) (*kservepb.ServerReadyResponse, error) {
	return &kservepb.ServerReadyResponse{Ready: g.repo.ready()}, nil
}

// ModelReady reports whether a model, or a version of it, is ready.
func (g *grpcAPI) ModelReady(_ context.Context, q *kservepb.ModelReadyRequest) (*kservepb.ModelReadyResponse, error) {
	_, f := g.repo.find(q.Name, q.Version)
	return &kservepb.ModelReadyResponse{Ready: f == nil}, nil
}

// ServerMetadata names the server and the extensions that it speaks.
func (g *grpcAPI) ServerMetadata(context.Context, *kservepb.ServerMetadataRequest) (*kservepb.ServerMetadataResponse, error) {
	return &kservepb.ServerMetadataResponse{Name: serverName, Version: serverVersion, Extensions: extensions}, nil
}

// ModelMetadata describes the tensors of a model.
func (g *grpcAPI) ModelMetadata(_ context.Context, q *kservepb.ModelMetadataRequest) (*kservepb.ModelMetadataResponse, error) {
	m, f := g.repo.metadata(q.Name, q.Version)
	if f != nil {
		return nil, f.grpcError()
	}
	tensors := func(ts []tensorMeta) (out []*kservepb.ModelMetadataResponse_TensorMetadata) {
		for _, t := range ts {
			out = append(out, &kservepb.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: t.Datatype, Shape: t.Shape})
		}
		return out
	}
	return &kservepb.ModelMetadataResponse{Name: m.Name, Versions: m.Versions, Platform: m.Platform, Inputs: tensors(m.Inputs), Outputs: tensors(m.Outputs)}, nil
}

// ModelConfig gives the configuration in force.
func (g *grpcAPI) ModelConfig(_ context.Context, q *kservepb.ModelConfigRequest) (*kservepb.ModelConfigResponse, error) {
	v, f := g.repo.find(q.Name, q.Version)
	if f != nil {
		return nil, f.grpcError()
	}
	c := v.config()
	pb := &kservepb.ModelConfig{
		Name: c.Name, Platform: c.Platform, Backend: c.Backend, MaxBatchSize: int32(c.MaxBatchSize),
		VersionPolicy: &kservepb.ModelVersionPolicy{PolicyChoice: &kservepb.ModelVersionPolicy_All_{All: &kservepb.ModelVersionPolicy_All{}}},
		DynamicBatching: &kservepb.ModelDynamicBatching{MaxQueueDelayMicroseconds: uint64(c.DynamicBatching.DelayUS),
			DefaultQueuePolicy: &kservepb.ModelQueuePolicy{DefaultTimeoutMicroseconds: uint64(c.DynamicBatching.Policy.TimeoutUS),
				AllowTimeoutOverride: c.DynamicBatching.Policy.Override, MaxQueueSize: uint32(c.DynamicBatching.Policy.MaxQueue)}},
	}
	for _, p := range c.DynamicBatching.Preferred {
		pb.DynamicBatching.PreferredBatchSize = append(pb.DynamicBatching.PreferredBatchSize, int32(p))
	}
	for _, i := range c.Input {
		pb.Input = append(pb.Input, &kservepb.ModelInput{Name: i.Name, DataType: kservepb.DataType_TYPE_FP32, Format: kservepb.ModelInput_FORMAT_NCHW, Dims: i.Dims})
	}
	for _, o := range c.Output {
		pb.Output = append(pb.Output, &kservepb.ModelOutput{Name: o.Name, DataType: kservepb.DataType_TYPE_FP32, Dims: o.Dims})
	}
	for _, i := range c.InstanceGroup {
		pb.InstanceGroup = append(pb.InstanceGroup, &kservepb.ModelInstanceGroup{Name: i.Name, Kind: kservepb.ModelInstanceGroup_KIND_GPU, Count: int32(i.Count), Gpus: i.GPUs})
	}
	return &kservepb.ModelConfigResponse{Config: pb}, nil
}

// ModelStatistics reports the cumulated statistics in nanoseconds.
func (g *grpcAPI) ModelStatistics(_ context.Context, q *kservepb.ModelStatisticsRequest) (*kservepb.ModelStatisticsResponse, error) {
	all, f := g.repo.statistics(q.Name, q.Version)
	if f != nil {
		return nil, f.grpcError()
	}
	d := func(d duration) *kservepb.StatisticDuration {
		return &kservepb.StatisticDuration{Count: d.Count, Ns: d.NS}
	}
	res := &kservepb.ModelStatisticsResponse{}
	for _, s := range all {
		i := s.Inference
		pb := &kservepb.ModelStatistics{Name: s.Name, Version: s.Version, LastInference: uint64(s.LastInference), InferenceCount: s.Count, ExecutionCount: s.Executions,
			InferenceStats: &kservepb.InferStatistics{Success: d(i.Success), Fail: d(i.Fail), Queue: d(i.Queue), ComputeInput: d(i.Input),
				ComputeInfer: d(i.Infer), ComputeOutput: d(i.Output), CacheHit: d(i.CacheHit), CacheMiss: d(i.CacheMiss)}}
		for _, b := range s.Batches {
			pb.BatchStats = append(pb.BatchStats, &kservepb.InferBatchStatistics{BatchSize: uint64(b.Size), ComputeInput: d(b.Input), ComputeInfer: d(b.Infer), ComputeOutput: d(b.Output)})
		}
		for _, m := range s.Memory {
			pb.MemoryUsage = append(pb.MemoryUsage, &kservepb.MemoryUsage{Type: m.Type, Id: int64(m.ID), ByteSize: uint64(m.Bytes)})
		}
		res.ModelStats = append(res.ModelStats, pb)
	}
	return res, nil
}

// RepositoryIndex lists the versions that the repository knows.
func (g *grpcAPI) RepositoryIndex(_ context.Context, q *kservepb.RepositoryIndexRequest) (*kservepb.RepositoryIndexResponse, error) {
	res := &kservepb.RepositoryIndexResponse{}
	for _, e := range g.repo.index(q.Ready) {
		res.Models = append(res.Models, &kservepb.RepositoryIndexResponse_ModelIndex{Name: e.Name, Version: e.Version, State: e.State, Reason: e.Reason})
	}
	return res, nil
}

// RepositoryModelLoad loads a model, again when it is loaded.
func (g *grpcAPI) RepositoryModelLoad(_ context.Context, q *kservepb.RepositoryModelLoadRequest) (*kservepb.RepositoryModelLoadResponse, error) {
	if f := g.repo.load(q.ModelName); f != nil {
		return nil, f.grpcError()
	}
	return &kservepb.RepositoryModelLoadResponse{}, nil
}

// RepositoryModelUnload unloads a model.
func (g *grpcAPI) RepositoryModelUnload(_ context.Context, q *kservepb.RepositoryModelUnloadRequest) (*kservepb.RepositoryModelUnloadResponse, error) {
	if f := g.repo.unload(q.ModelName); f != nil {
		return nil, f.grpcError()
	}
	return &kservepb.RepositoryModelUnloadResponse{}, nil
}

// arrivals stamps each call with the time at which its headers came, before
// the message is read and decoded, so that receive_us covers that too.
type arrivals struct{}

type arrivalKey struct{}

// TagRPC implements the gRPC library's stats.Handler, as do the three below it.
func (arrivals) TagRPC(ctx context.Context, _ *rpcstats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, arrivalKey{}, time.Now())
}
func (arrivals) HandleRPC(context.Context, rpcstats.RPCStats)                         {}
func (arrivals) TagConn(ctx context.Context, _ *rpcstats.ConnTagInfo) context.Context { return ctx }
func (arrivals) HandleConn(context.Context, rpcstats.ConnStats)                       {}

// ModelInfer runs one inference.
func (g *grpcAPI) ModelInfer(ctx context.Context, q *kservepb.ModelInferRequest) (*kservepb.ModelInferResponse, error) {
	begin, ok := ctx.Value(arrivalKey{}).(time.Time)
	if !ok {
		begin = time.Now() // called without a server
	}
	req, f := fromProto(q)
	if f != nil {
		return nil, f.grpcError()
	}
	req.receiveUS = time.Since(begin).Microseconds()
	res, f := g.repo.infer(ctx, q.ModelName, q.ModelVersion, req)
	if f != nil {
		return nil, f.grpcError()
	}
	out := &kservepb.ModelInferResponse{ModelName: res.model, ModelVersion: res.version, Id: res.id}
	for name, v := range res.timing {
		if out.Parameters == nil {
			out.Parameters = map[string]*kservepb.InferParameter{}
		}
		out.Parameters[name] = &kservepb.InferParameter{ParameterChoice: &kservepb.InferParameter_Int64Param{Int64Param: v}}
	}
	for _, o := range res.outputs { // as Triton: outputs are always raw
		out.Outputs = append(out.Outputs, &kservepb.ModelInferResponse_InferOutputTensor{Name: o.name, Datatype: o.datatype, Shape: o.shape})
		out.RawOutputContents = append(out.RawOutputContents, o.raw())
	}
	return out, nil
}

// fromProto converts a gRPC request.
func fromProto(q *kservepb.ModelInferRequest) (*inferRequest, *failure) {
	req := &inferRequest{id: q.Id}
	if p, ok := q.Parameters["timing"]; ok {
		req.timing = p.GetBoolParam()
	}
	if p, ok := q.Parameters["timeout"]; ok {
		req.timeoutUS = p.GetInt64Param()
	}
	raw := q.RawInputContents
	if len(raw) > 0 && len(raw) != len(q.Inputs) {
		return nil, invalid(fmt.Sprintf("expected %d raw_input_contents, got %d: give one for each input or none", len(q.Inputs), len(raw)))
	}
	for i, in := range q.Inputs {
		t := tensorIn{name: in.Name, datatype: in.Datatype, shape: in.Shape}
		switch c := in.Contents; {
		case len(raw) > 0 && c != nil:
			return nil, invalid(fmt.Sprintf("contents field must not be specified when using raw_input_contents for '%s'", in.Name))
		case len(raw) > 0:
			t.data.raw = raw[i]
			if t.data.raw == nil {
				t.data.raw = []byte{}
			}
		default:
			t.data.floats = c.GetFp32Contents()
			t.other = in.Datatype != datatypeF
		}
		req.inputs = append(req.inputs, t)
	}
	for _, o := range q.Outputs {
		w := outputWanted{name: o.Name, binary: true}
		if p, ok := o.Parameters["classification"]; ok {
			w.classes = int(p.GetInt64Param())
		}
		req.outputs = append(req.outputs, w)
	}
	return req, nil
}
