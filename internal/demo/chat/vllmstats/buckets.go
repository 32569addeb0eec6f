package vllmstats

// Bucket bounds of vllm/v1/metrics/loggers.py at the 0.32 line, and of the
// FastAPI instrumentator in front of it. Every value counts.
var (
	countBuckets = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000}
	stepBuckets  = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	nBuckets     = []float64{1, 2, 5, 10, 20}
	ttftBuckets  = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	tokenBuckets = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	// requestBuckets start at 0.3 s: shorter phases have no resolution, as in vLLM.
	requestBuckets = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	httpBuckets    = []float64{.01, .025, .05, .075, .1, .25, .5, .75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10, 30, 60}
)
