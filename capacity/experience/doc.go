// Package experience says what came of the machines of a pool: which came up in vain (circuits), which could not be had
// (back-offs), and what they turned out to offer (learned shapes). It is kept in the pool's status and read back from there.
//
// It buys nothing; the planner asks it before it does.
package experience
