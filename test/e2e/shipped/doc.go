// Package shipped runs what deploy/ ships: it installs the CRDs and the RBAC rules with kubectl, takes the scheduler
// configurations as they stand in the tree, and starts the real muster binary and a stock kube-scheduler as their
// ServiceAccounts. Only what cannot be known beforehand is filled in: ports, files of keys, and the kubeconfig. So the
// shipped files are what the stories prove.
package shipped
