// Package fidelity asks kube-scheduler's own filter plugins and Muster's Simulation the same questions, of clusters made
// up by a seed, and wants the same answers.
package fidelity
