// Package speed measures how fast a trace is replayed, and how much memory that takes.
package speed
