package accel

import (
	"bytes"
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"strings"
)

// reading is everything that one exposition of a card needs, taken at once.
type reading struct {
	Snapshot
	cfg     Config
	ecc     eccCounts
	xids    map[int]int    // in the window, by code
	reasons map[string]int // samples in the window, by clock event
}

// reasonNames maps bits to the exporter's label values.
var reasonNames = []struct {
	bit  int
	name string
}{
	{ReasonIdle, "gpu_idle"}, {0x2, "clocks_setting"}, {ReasonPowerCap, "power_cap"}, {ReasonHWSlowdown, "hw_slowdown"},
	{0x10, "sync_boost"}, {ReasonSWThermal, "sw_thermal"}, {ReasonHWThermal, "hw_thermal"}, {0x80, "hw_power_brake"}, {0x100, "display_clocks"},
}

func (d *Device) read() reading {
	r := reading{Snapshot: d.Snapshot(), cfg: d.cfg, xids: map[int]int{}, reasons: map[string]int{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetLocked(d.cfg.Now())
	r.ecc = d.ecc
	for _, x := range d.xids {
		r.xids[x.code]++
	}
	for _, h := range d.hist {
		for _, n := range reasonNames {
			if h.reasons&n.bit != 0 {
				r.reasons[n.name]++
			}
		}
	}
	return r
}

// family is one metric of the exporter. An int value prints as an integer, a
// float64 with six decimals, as the exporter does.
type family struct {
	name, kind, help string
	value            func(r reading) any
}

func flag(b bool) any {
	if b {
		return 1
	}
	return 0
}

func mib(n int64) any                  { return int(n / MiB) }
func whole(v float64) any              { return int(v + 0.5) }
func percent(v float64) any            { return int(v*100 + 0.5) }
func constant(v int) func(reading) any { return func(reading) any { return v } }

// families are the default counters in the exporter's order, then the ones
// that a verdict needs and that an operator switches on.
var families = []family{
	{"DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock, MHz", func(r reading) any { return whole(r.ClockMHz) }},
	{"DCGM_FI_DEV_MEM_CLOCK", "gauge", "memory clock, MHz", func(r reading) any { return whole(r.cfg.MemoryClockMHz) }},
	{"DCGM_FI_DEV_MEMORY_TEMP", "gauge", "memory temperature, C", func(r reading) any { return whole(r.MemoryCelsius) }},
	{"DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU core temperature, C", func(r reading) any { return whole(r.TemperatureCelsius) }},
	{"DCGM_FI_DEV_POWER_USAGE", "gauge", "board power, W", func(r reading) any { return r.PowerWatts }},
	{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "energy since driver load, mJ", func(r reading) any { return whole(r.EnergyJoules * 1000) }},
	{"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "PCIe replays", func(r reading) any { return int(r.ecc.pcieReplays) }},
	{"DCGM_FI_DEV_GPU_UTIL", "gauge", "time with a kernel resident, percent", func(r reading) any { return percent(r.Busy) }},
	{"DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "time with memory traffic, percent", func(r reading) any { return percent(r.Load.DRAM) }},
	{"DCGM_FI_DEV_ENC_UTIL", "gauge", "encoder, percent", constant(0)},
	{"DCGM_FI_DEV_DEC_UTIL", "gauge", "decoder, percent", constant(0)},
	{"DCGM_FI_DEV_XID_ERRORS", "gauge", "last XID seen, never cleared", func(r reading) any { return r.ecc.lastXID }},
	{"DCGM_FI_DEV_FB_FREE", "gauge", "framebuffer free, MiB", func(r reading) any {
		return int(r.MemoryTotal/MiB - r.MemoryUsed/MiB - r.MemoryReserved/MiB)
	}},
	{"DCGM_FI_DEV_FB_USED", "gauge", "framebuffer used, MiB", func(r reading) any { return mib(r.MemoryUsed) }},
	{"DCGM_FI_DEV_FB_RESERVED", "gauge", "framebuffer reserved, MiB", func(r reading) any { return mib(r.MemoryReserved) }},
	{"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "counter", "NVLink bandwidth, all lanes", constant(0)},
	{"DCGM_FI_DEV_VGPU_LICENSE_STATUS", "gauge", "vGPU license status", constant(0)},
	{"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", "rows remapped after uncorrectable errors", func(r reading) any { return int(r.ecc.uncorrectableRemaps) }},
	{"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter", "rows remapped after correctable errors", func(r reading) any { return int(r.ecc.correctableRemaps) }},
	{"DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "1 when a row remap failed", func(r reading) any { return flag(r.ecc.remapFailed) }},
	{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "graphics or compute engine active, ratio", func(r reading) any { return r.Busy }},
	{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "tensor pipe active, ratio", func(r reading) any { return r.Load.Tensor }},
	{"DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "device memory interface active, ratio", func(r reading) any { return r.Load.DRAM }},
	{"DCGM_FI_PROF_PCIE_TX_BYTES", "gauge", "PCIe sent by the GPU, B/s", func(r reading) any { return whole(r.PCIeTxPerSecond) }},
	{"DCGM_FI_PROF_PCIE_RX_BYTES", "gauge", "PCIe received by the GPU, B/s", func(r reading) any { return whole(r.PCIeRxPerSecond) }},

	{"DCGM_FI_DEV_FB_TOTAL", "gauge", "framebuffer total, MiB", func(r reading) any { return mib(r.MemoryTotal) }},
	{"DCGM_FI_PROF_SM_ACTIVE", "gauge", "SM with a warp assigned, ratio", func(r reading) any { return r.Load.SM }},
	{"DCGM_FI_PROF_SM_OCCUPANCY", "gauge", "resident warps to maximum, ratio", func(r reading) any { return r.Load.Occupancy }},
	{"DCGM_FI_PROF_PIPE_FP32_ACTIVE", "gauge", "fp32 pipe active, ratio", func(r reading) any { return r.Load.FP32 }},
	{"DCGM_FI_DEV_POWER_VIOLATION", "counter", "time held back by power, ns", func(r reading) any { return int(r.PowerViolation) }},
	{"DCGM_FI_DEV_THERMAL_VIOLATION", "counter", "time held back by temperature, ns", func(r reading) any { return int(r.ThermalViolation) }},
	{"DCGM_FI_DEV_SYNC_BOOST_VIOLATION", "counter", "time held back by sync boost, ns", constant(0)},
	{"DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", "counter", "time held back by the board limit, ns", constant(0)},
	{"DCGM_FI_DEV_LOW_UTIL_VIOLATION", "counter", "time at low clocks for lack of work, ns", constant(0)},
	{"DCGM_FI_DEV_RELIABILITY_VIOLATION", "counter", "time held back for reliability, ns", constant(0)},
	{"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", "single-bit ECC errors since driver load", func(r reading) any { return int(r.ecc.single) }},
	{"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "double-bit ECC errors since driver load", func(r reading) any { return int(r.ecc.double) }},
	{"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", "counter", "single-bit ECC errors, lifetime", func(r reading) any { return int(r.ecc.single) }},
	{"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", "counter", "double-bit ECC errors, lifetime", func(r reading) any { return int(r.ecc.double) }},
	{"DCGM_FI_DEV_ROW_REMAP_PENDING", "gauge", "1 when a row remap waits for a reset", func(r reading) any { return flag(r.ecc.remapPending) }},
	{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "gauge", "bitmask of reasons for the current clocks", func(r reading) any { return r.Reasons }},
	{"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "gauge", "power limit in force, W", func(r reading) any { return r.PowerLimitWatts }},
	{"DCGM_FI_DEV_SLOWDOWN_TEMP", "gauge", "slowdown temperature, C", func(r reading) any { return whole(r.cfg.SlowdownCelsius) }},
	{"DCGM_FI_DEV_MAX_SM_CLOCK", "gauge", "highest SM clock, MHz", func(r reading) any { return whole(r.MaxClockMHz) }},
	{"DCGM_FI_DEV_PCIE_LINK_GEN", "gauge", "PCIe generation in use", func(r reading) any { return r.cfg.PCIeLinkGeneration }},
	{"DCGM_FI_DEV_PCIE_LINK_WIDTH", "gauge", "PCIe lanes in use", func(r reading) any { return r.cfg.PCIeLinkWidth }},
	{"DCGM_FI_DEV_PCIE_MAX_LINK_GEN", "gauge", "highest PCIe generation", func(r reading) any { return r.cfg.PCIeLinkGeneration }},
	{"DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", "gauge", "highest PCIe lane count", func(r reading) any { return r.cfg.PCIeLinkWidth }},
}

// escape quotes a label value as the text format wants it.
var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// labels prints the labels in the exporter's order; those of the pod only when
// the card has an owner. extra comes last, then the mark.
func (r reading) labels(extra string) string {
	c := r.cfg
	b := &strings.Builder{}
	fmt.Fprintf(b, `gpu="%d",UUID="%s",pci_bus_id="00000000:%02X:00.0",device="nvidia%d",modelName="%s",Hostname="%s",DCGM_FI_DRIVER_VERSION="%s"`,
		c.Index, escape.Replace(c.UUID), 0x18+0x12*c.Index, c.Index, escape.Replace(c.ModelName), escape.Replace(c.Node), escape.Replace(c.Driver))
	if c.Pod != "" {
		fmt.Fprintf(b, `,container="%s",namespace="%s",pod="%s"`, escape.Replace(c.Container), escape.Replace(c.Namespace), escape.Replace(c.Pod))
	}
	b.WriteString(extra)
	b.WriteString(`,simulated="true"`)
	return b.String()
}

func number(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', 6, 64)
	}
	return strconv.Itoa(v.(int))
}

// Exposition prints the cards in the text format of dcgm-exporter.
func Exposition(devs ...*Device) []byte {
	rs := make([]reading, len(devs))
	for i, d := range devs {
		rs[i] = d.read()
	}
	b := &bytes.Buffer{}
	for _, f := range families {
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
		for _, r := range rs {
			fmt.Fprintf(b, "%s{%s} %s\n", f.name, r.labels(""), number(f.value(r)))
		}
	}
	writeCounts(b, rs)
	return b.Bytes()
}

// writeCounts prints the exporter's own counts of events in a window. A clock
// event that did not happen has no series; without any XID there is one series
// with value 0 and no code.
func writeCounts(b *bytes.Buffer, rs []reading) {
	const clock, xid = "DCGM_EXP_CLOCK_EVENTS_COUNT", "DCGM_EXP_XID_ERRORS_COUNT"
	window := func(r reading) string {
		return fmt.Sprintf(`,window_size_in_ms="%d"`, r.cfg.CountWindow.Milliseconds())
	}
	headed := false
	for _, r := range rs {
		for _, n := range reasonNames {
			if c := r.reasons[n.name]; c > 0 {
				if !headed {
					fmt.Fprintf(b, "# HELP %s samples in the window that carried this clock event\n# TYPE %s counter\n", clock, clock)
					headed = true
				}
				fmt.Fprintf(b, "%s{%s} %d\n", clock, r.labels(`,clock_event="`+n.name+`"`+window(r)), c)
			}
		}
	}
	fmt.Fprintf(b, "# HELP %s XIDs seen in the window\n# TYPE %s counter\n", xid, xid)
	for _, r := range rs {
		codes := make([]int, 0, len(r.xids))
		for c := range r.xids {
			codes = append(codes, c)
		}
		sort.Ints(codes)
		for _, c := range codes {
			fmt.Fprintf(b, "%s{%s} %d\n", xid, r.labels(window(r)+fmt.Sprintf(`,xid="%d"`, c)), r.xids[c])
		}
		if len(codes) == 0 {
			fmt.Fprintf(b, "%s{%s} 0\n", xid, r.labels(window(r)))
		}
	}
}

// Handler serves Exposition, as dcgm-exporter does at /metrics.
func Handler(devs ...*Device) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(Exposition(devs...)) // a scraper that hung up needs no answer
	})
}
