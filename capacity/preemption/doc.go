// Package preemption decides which running pods make room for a pod of higher priority, when no pool may grow for it. It
// follows kube-scheduler's DefaultPreemption (pkg/scheduler/framework/preemption as of 1.36), with one difference: every
// filter is judged, those included that place mode takes over. It evicts nobody; package control does.
package preemption
