// Command etcd is the stock etcd server, compiled from its Go module for the control plane of the e2e stories.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
