// Package hosttest is what the tests of bare-metal drivers share: Host objects in memory, a clock that is set by hand, and
// a backend for the one suite of all providers over any driver.
package hosttest
