// Package witness watches a cluster and a backend from outside while a story runs, and says afterwards what broke a
// promise: a node with more requests than room, two machines for one claim, a pool above its maximum. It reads the API
// server and the backend only, never Muster, and it counts with its own code, so that it cannot share Muster's mistakes.
package witness
