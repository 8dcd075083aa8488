// Package extender answers kube-scheduler over HTTP: it decodes a call, asks the core once, encodes the answer. It also
// checks the scheduler's configuration, since a wrong entry there means that nobody checks room. It does no I/O of its
// own, keeps no state of the cluster and decides nothing.
//
// The wire is that of k8s.io/kube-scheduler/extender/v1 as kube-scheduler's pkg/scheduler/extender.go sends and reads it.
package extender
