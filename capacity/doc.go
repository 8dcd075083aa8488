// Package capacity is Muster's core: what the cluster holds (Live, and View as its frozen form), whether a pod fits
// (Fit), and which pods lack room (the ledger). What is bought for those is decided in capacity/planner.
//
// It reads no clock, calls no API and starts no goroutine. Time enters as a value, the world through Live's Set and
// Forget methods, and what is decided leaves as a value; the loops that observe and perform live in capacity/control.
package capacity
