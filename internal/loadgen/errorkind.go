package loadgen

import (
	"strings"

	"sightline/internal/model"
)

// signs lists what texts of error bodies mean, tried from the top. The order
// is part of the table: out-of-memory wins over a failed load that caused it,
// and "not at ready state" wins over the unknown-model words before it. Texts
// are those of Triton, KServe, vLLM and OpenAI; matched in lower case.
var signs = []struct {
	kind  model.ErrorKind
	texts []string
}{
	{model.ErrorOOM, []string{"out of memory", "cuda_out_of_memory", "memoryerror", "outofmemory", "oom when allocating", "cublas_status_alloc_failed", "failed to allocate memory", "unable to allocate"}},
	{model.ErrorContextLength, []string{"maximum context length", "longer than the model's context length", "exceeds the available context size", "exceed_context_size_error", "context_length_exceeded"}},
	{model.ErrorUnavailable, []string{"not at ready state", "has no available versions", "server not ready", "server is stopping", "is not healthy and", "not ready"}},
	{model.ErrorModelLoadFailed, []string{"load failed for model", "failed to load", "failed to start workers", "loading lora"}},
	{model.ErrorModelNotFound, []string{"unknown model", "does not exist", "servable not found", "model not found", "model with name"}},
	{model.ErrorOverloaded, []string{"exceeds maximum queue size", "overloaded", "queue is full", "backpressure", "maximum pending requests exceeded", "engine is currently busy", "backlog limit", "rate limit"}},
	{model.ErrorTimeout, []string{"request timeout expired", "timed out", "deadline exceeded"}},
	{model.ErrorCancelled, []string{"cancelled", "canceled"}},
}

// Classify names the kind of a failed HTTP answer: text first, because servers
// share statuses between kinds, then status. A success has no kind.
// errorsInBody says that a body with status 200 carried an error, as streams do.
func Classify(status int, body string, errorInBody bool) model.ErrorKind {
	if status >= 200 && status < 300 && !errorInBody {
		return ""
	}
	text := strings.ToLower(body)
	for _, s := range signs {
		for _, t := range s.texts {
			if strings.Contains(text, t) {
				return s.kind
			}
		}
	}
	switch {
	case status == 507:
		return model.ErrorOOM
	case status == 404:
		return model.ErrorModelNotFound
	case status == 429 || status == 529:
		return model.ErrorOverloaded
	case status == 408 || status == 504:
		return model.ErrorTimeout
	case status == 499:
		return model.ErrorCancelled
	case status == 503:
		return model.ErrorUnavailable
	case status == 501 || (status >= 400 && status < 500):
		return model.ErrorInvalidInput
	}
	return model.ErrorInternal
}
