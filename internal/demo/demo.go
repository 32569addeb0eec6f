// Package demo is the folder of the demo's engines: real servers that do real
// arithmetic on the CPU and speak the protocols and metrics of the servers that
// people run. accel models the accelerator card that an engine believes it
// uses, vision is an image classifier behind the KServe v2 protocol, chat a
// small language model behind the OpenAI one. Everything that a card would
// report and a CPU cannot carries the
// label simulated="true".
package demo
