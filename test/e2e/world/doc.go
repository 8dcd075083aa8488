// Package world makes up clusters: nodes, running pods, DaemonSets, pools, storage, and pods that wait for a node. A
// seed decides everything. A cluster is only written down here; nothing is created, and nothing of the product but its
// API types is used, so that what is wrong there does not decide what is tried.
package world
