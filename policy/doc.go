// Package policy holds the rules an operator chooses: how far a pool may grow, which pool and which machine come first,
// what a machine costs, how long pods are gathered before anything is bought, and how long to wait after a failure.
//
// Every rule is a function of plain values. The package knows the API types and nothing of the cluster: what pods ask
// for and where they fit is package capacity's business.
package policy
