package controlplane

import (
	"context"
	"fmt"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokenLifetime outlasts any run of the stories.
const tokenLifetime = 6 * 60 * 60 // seconds

// AccountKubeconfig writes a kubeconfig that acts as an existing ServiceAccount, with a token from the token API, and
// returns its file.
func (p *Plane) AccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	lifetime := int64(tokenLifetime)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &lifetime}}
	answer, err := p.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token for ServiceAccount %s/%s: %w", namespace, name, err)
	}
	return p.writeKubeconfig(namespace+"-"+name, &clientcmdapi.AuthInfo{Token: answer.Status.Token})
}

func (p *Plane) userKubeconfig(file, user string, groups ...string) (string, error) {
	pair, err := p.CA.Issue(file, user, groups...)
	if err != nil {
		return "", err
	}
	return p.writeKubeconfig(file, &clientcmdapi.AuthInfo{ClientCertificateData: pair.CertData, ClientKeyData: pair.KeyData})
}

func (p *Plane) writeKubeconfig(file string, user *clientcmdapi.AuthInfo) (string, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["e2e"] = &clientcmdapi.Cluster{
		Server:                   fmt.Sprintf("https://127.0.0.1:%d", p.ports.apiserver),
		CertificateAuthorityData: p.CA.CAData,
	}
	config.AuthInfos["user"] = user
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "user"}
	config.CurrentContext = "e2e"
	path := filepath.Join(p.dir, file+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}
