package controlplane

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// await asks until the answer is nil, the context ends or a process of the control plane has died.
func (p *Plane) await(ctx context.Context, what string, ready func(context.Context) error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		if err := p.Failed(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not get ready: %w", what, last)
		case <-tick.C:
		}
	}
}

func (p *Plane) apiserverReady(ctx context.Context) error {
	return p.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// controllersReady needs one object that a controller makes: every pod needs it too.
func (p *Plane) controllersReady(ctx context.Context) error {
	_, err := p.Client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
	return err
}

func (p *Plane) kwokReady(ctx context.Context) error {
	return HTTPReady(ctx, fmt.Sprintf("http://127.0.0.1:%d/healthz", p.ports.kwok))
}

// healthClient reads health pages on loopback only; the certificates behind them are made at start and signed by nobody.
var healthClient = &http.Client{
	Timeout:   5 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
}

// HTTPReady asks a health page once; anything but 200 is an error.
func HTTPReady(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := healthClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}
