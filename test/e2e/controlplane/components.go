package controlplane

import (
	"fmt"
	"path/filepath"
)

// ports are the loopback ports of one control plane.
type ports struct {
	etcd, etcdPeer, apiserver, kwok int
}

func newPorts() (p ports, err error) {
	return p, freePorts(&p.etcd, &p.etcdPeer, &p.apiserver, &p.kwok)
}

func (p *Plane) etcdCommand() Command {
	client := fmt.Sprintf("http://127.0.0.1:%d", p.ports.etcd)
	peer := fmt.Sprintf("http://127.0.0.1:%d", p.ports.etcdPeer)
	return Command{Name: "etcd", Path: p.programs.etcd, Dir: p.Logs, Args: []string{
		"--data-dir=" + filepath.Join(p.dir, "etcd"),
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		"--unsafe-no-fsync", // the data is thrown away, and a slow disk must not fail a story
		"--quota-backend-bytes=4294967296",
		"--log-level=warn",
	}}
}

func (p *Plane) apiserverCommand(server KeyPair, accounts KeyPair) Command {
	return Command{Name: "kube-apiserver", Path: p.programs.kube, Dir: p.Logs, Args: []string{
		"kube-apiserver",
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", p.ports.etcd),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", p.ports.apiserver),
		"--endpoint-reconciler-type=none", // an Endpoints object may not hold a loopback address
		"--tls-cert-file=" + server.CertFile, "--tls-private-key-file=" + server.KeyFile,
		"--client-ca-file=" + p.CA.CAFile,
		"--authorization-mode=RBAC",
		"--enable-bootstrap-token-auth=true", // as kubeadm has it: machines join with such tokens
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + accounts.KeyFile, "--service-account-signing-key-file=" + accounts.KeyFile,
		"--allow-privileged=true",
		"--shutdown-delay-duration=0s",
	}}
}

func (p *Plane) controllersCommand(accounts KeyPair) Command {
	return Command{Name: "kube-controller-manager", Path: p.programs.kube, Dir: p.Logs, Args: []string{
		"kube-controller-manager",
		"--kubeconfig=" + p.controllersKubeconfig,
		"--service-account-private-key-file=" + accounts.KeyFile,
		"--root-ca-file=" + p.CA.CAFile,
		"--use-service-account-credentials=true",
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=500", "--kube-api-burst=1000", // so that DaemonSet pods follow their nodes at once
	}}
}

// OwnKubelet is the label of a Node that a story's own kubelet keeps alive, or not: kwok leaves it alone.
const OwnKubelet = "example.org/own-kubelet"

// kwokCommand relies on kwok's own stages: a bound pod runs at once, a Job's pod succeeds, a deleted pod goes at once.
func (p *Plane) kwokCommand() Command {
	return Command{Name: "kwok", Path: p.programs.kwok, Dir: p.Logs, Args: []string{
		"--kubeconfig=" + p.AdminKubeconfig,
		"--manage-all-nodes=false", "--manage-nodes-with-label-selector=!" + OwnKubelet,
		"--node-lease-duration-seconds=40",
		fmt.Sprintf("--server-address=127.0.0.1:%d", p.ports.kwok),
	}}
}
