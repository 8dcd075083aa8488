package shipped

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-sh/muster/provider/seed"
	"github.com/muster-sh/muster/test/e2e/controlplane"
)

// What deploy/components/join gives is enough for bootstrap tokens and for nothing else, as the real API server sees it.
func TestMusterKeepsBootstrapTokensAndNoOtherSecret(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	plane, err := controlplane.Start(ctx, t.TempDir())
	require.NoError(t, err)
	t.Cleanup(plane.Stop)
	apply := func(parts ...string) {
		out, err := plane.Kubectl(ctx, "apply", "-f", filepath.Join(append([]string{"deploy"}, parts...)...))
		require.NoError(t, err, out)
	}
	apply("base", "namespace.yaml")
	apply("rbac", "guard", "account.yaml")
	kubeconfig, err := plane.AccountKubeconfig(ctx, "muster-system", "muster")
	require.NoError(t, err)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	kube, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	tokens, secrets := seed.Tokens{Kube: kube}, kube.CoreV1().Secrets("kube-system")
	require.True(t, apierrors.IsForbidden(tokens.Try(ctx)), "nothing is allowed before it is asked for")

	apply("components", "join", "tokens.yaml")
	opaque := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "opaque", Labels: map[string]string{"app.kubernetes.io/managed-by": "muster"}}}
	require.Eventually(t, func() bool {
		_, err := secrets.Create(ctx, opaque, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(err) || err != nil && tokens.Try(ctx) == nil
	}, time.Minute, 200*time.Millisecond, "the policy is not in force")
	require.NoError(t, tokens.Try(ctx))

	secret, err := seed.NewSecret()
	require.NoError(t, err)
	id := seed.TokenID("machine")
	token := seed.Token{ID: id, Secret: secret, Expires: time.Now().Add(20 * time.Minute), For: "std-000",
		Groups: []string{"system:bootstrappers:kubeadm:default-node-token"}}
	require.NoError(t, tokens.Create(ctx, token))
	require.NoError(t, tokens.Create(ctx, token), "over the one before")
	written, err := plane.Client.CoreV1().Secrets("kube-system").Get(ctx, "bootstrap-token-"+id, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, secret.Reveal(), string(written.Data["token-secret"]))

	joining := rest.AnonymousClientConfig(config)
	joining.BearerToken = id + "." + secret.Reveal()
	machine, err := kubernetes.NewForConfig(joining)
	require.NoError(t, err)
	who, err := machine.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	require.NoError(t, err, "the token lets its machine in")
	require.Equal(t, "system:bootstrap:"+id, who.Status.UserInfo.Username)
	require.Contains(t, who.Status.UserInfo.Groups, "system:bootstrappers:kubeadm:default-node-token")

	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-foreig"}, Type: corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{"token-id": "foreig", "token-secret": "0123456789abcdef"}}
	_, err = plane.Client.CoreV1().Secrets("kube-system").Create(ctx, foreign, metav1.CreateOptions{})
	require.NoError(t, err)
	for what, err := range map[string]error{
		"reading a token":              second(secrets.Get(ctx, written.Name, metav1.GetOptions{})),
		"listing":                      second(secrets.List(ctx, metav1.ListOptions{})),
		"a Secret of another kind":     second(secrets.Create(ctx, opaque, metav1.CreateOptions{})),
		"a token that never ends":      second(secrets.Create(ctx, endless(written), metav1.CreateOptions{})),
		"the deletion of foreign ones": secrets.Delete(ctx, foreign.Name, metav1.DeleteOptions{}),
		"another namespace":            kube.CoreV1().Secrets("default").Delete(ctx, "x", metav1.DeleteOptions{}),
	} {
		require.Error(t, err, what)
		require.True(t, apierrors.IsForbidden(err) || apierrors.IsInvalid(err), "%s: %v", what, err)
	}
	require.NoError(t, tokens.Delete(ctx, id))
	require.Eventually(t, func() bool { // the API server remembers for ten seconds whom it let in
		_, err := machine.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		return apierrors.IsUnauthorized(err)
	}, time.Minute, 500*time.Millisecond, "a token that was deleted lets nobody in")
	require.NoError(t, tokens.Delete(ctx, id), "also when it is gone")
	_, err = plane.Client.CoreV1().Secrets("kube-system").Get(ctx, foreign.Name, metav1.GetOptions{})
	require.NoError(t, err)
}

func second[T any](_ T, err error) error { return err }

func endless(s *corev1.Secret) *corev1.Secret {
	s = s.DeepCopy()
	s.ObjectMeta = metav1.ObjectMeta{Name: "bootstrap-token-endles", Namespace: s.Namespace, Labels: s.Labels}
	delete(s.Data, "expiration")
	return s
}
