// Package amount counts resources as kube-scheduler does: what a resource list says, what a pod asks for, and what a bound
// pod takes of its node. Sums stay at the ends of what can be counted, so that no absurd request wraps into a small one.
//
// It knows no node and compares nothing with a pool: Fit does.
package amount
