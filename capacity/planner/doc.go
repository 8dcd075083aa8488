// Package planner decides which machines are bought for the pods that lack room, and which of those pods wait for what:
// Plan. docs/planner.md says how.
//
// It judges every pod and every machine in one simulation.Simulation. It reads no clock, and performs nothing.
package planner
