// Package rehearsal tries in memory what package promises tries on a real control plane: for clusters that a seed makes
// up, a plan is made and carried out, and the pods are placed one by one. The filters of kube-scheduler are played by
// capacity.Simulation, which package fidelity compares with the real ones. A cluster takes milliseconds here, so that
// thousands of them can be tried in the order of every seed.
package rehearsal
