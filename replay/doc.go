// Package replay is a cluster in memory and in virtual time: an API server, a scheduler, kubelets and simulated machines
// around the very handlers, core and loops that `muster serve` runs. A trace or a story goes in, and what Muster would
// have bought, and how long pods would have waited, comes out. The same input and seed give the same bytes.
//
// It decides nothing of its own about capacity, and it is no model of the whole of Kubernetes: what the simulated
// scheduler, kubelet and controllers do and leave out is listed in docs/replay.md.
package replay
