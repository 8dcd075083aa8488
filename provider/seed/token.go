package seed

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/muster-sh/muster/provider/dial"
)

// MaxTTL is the longest that a token may live.
const MaxTTL = 30 * time.Minute

// Token lets one machine in. Kubernetes takes its tokens from Secrets of a type of their own.
// https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/
type Token struct {
	// ID is public, and the same for the same machine.
	ID     string
	Secret dial.Secret
	// Expires is when it is worth nothing any more, whoever forgets to delete it.
	Expires time.Time
	// Groups are what the machine is let in as, beside system:bootstrappers.
	Groups []string
	// For is the claim.
	For string
}

const letters = "abcdefghijklmnopqrstuvwxyz0123456789"

// TokenID is the public part of a machine's token: six letters and digits.
func TokenID(machine string) string {
	sum := sha256.Sum256([]byte("muster.sh/bootstrap/" + machine))
	n, base, id := new(big.Int).SetBytes(sum[:]), big.NewInt(int64(len(letters))), make([]byte, 6)
	for i := range id {
		digit := new(big.Int)
		n.DivMod(n, base, digit)
		id[i] = letters[digit.Int64()]
	}
	return string(id)
}

// NewSecret is the private part of a token: sixteen letters and digits.
func NewSecret() (dial.Secret, error) {
	b := make([]byte, 16)
	for i := range b {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			return "", fmt.Errorf("make a token: %w", err)
		}
		b[i] = letters[n.Int64()]
	}
	return dial.Secret(b), nil
}

// Tokens keeps bootstrap tokens in the cluster that machines join. It reads none: it may create and delete, no more.
type Tokens struct{ Kube kubernetes.Interface }

const (
	tokenNamespace = metav1.NamespaceSystem
	managedBy      = "app.kubernetes.io/managed-by"
)

func secretName(id string) string { return "bootstrap-token-" + id }

// Create writes the token; one that was written before for the same machine is replaced.
func (t Tokens) Create(ctx context.Context, token Token) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secretName(token.ID), Namespace: tokenNamespace, Labels: map[string]string{managedBy: "muster"}},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": token.ID, "token-secret": token.Secret.Reveal(), "expiration": token.Expires.UTC().Format(time.RFC3339),
			"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
			"description": "for the machine of NodeClaim " + token.For + ", until it has joined",
		},
	}
	for i, group := range token.Groups {
		if i > 0 {
			group = secret.StringData["auth-extra-groups"] + "," + group
		}
		secret.StringData["auth-extra-groups"] = group
	}
	_, err := t.Kube.CoreV1().Secrets(tokenNamespace).Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if err := t.Delete(ctx, token.ID); err != nil {
			return err
		}
		_, err = t.Kube.CoreV1().Secrets(tokenNamespace).Create(ctx, secret, metav1.CreateOptions{})
	}
	return err
}

// Try says whether tokens may be created and deleted, by asking for both without effect.
func (t Tokens) Try(ctx context.Context) error {
	all := []string{metav1.DryRunAll}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName("trial0"), Namespace: tokenNamespace, Labels: map[string]string{managedBy: "muster"}},
		Type: corev1.SecretTypeBootstrapToken, StringData: map[string]string{"token-id": "trial0", "token-secret": "0000000000000000", "expiration": "2000-01-01T00:00:00Z"}}
	secrets := t.Kube.CoreV1().Secrets(tokenNamespace)
	if _, err := secrets.Create(ctx, secret, metav1.CreateOptions{DryRun: all}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := secrets.Delete(ctx, secret.Name, metav1.DeleteOptions{DryRun: all}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// Delete removes a token; one that is not there is no error.
func (t Tokens) Delete(ctx context.Context, id string) error {
	err := t.Kube.CoreV1().Secrets(tokenNamespace).Delete(ctx, secretName(id), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
