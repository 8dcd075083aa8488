// Package browser looks at the page that replays are drawn on, in a real browser without a screen. It is a module of its
// own, so that the browser's driver is no dependency of Muster.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"

	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// names of the browser in PATH, the first that is there is taken.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

// Tab is a page in a browser, and what the page did that it should not.
type Tab struct {
	context.Context

	mu     sync.Mutex
	wrongs []string
}

// Open starts a browser of its own and loads an address. The returned function ends it.
func Open(ctx context.Context, address string, width, height int64) (*Tab, func(), error) {
	path, err := find()
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.WindowSize(int(width), int(height)))
	ctx, endBrowser := chromedp.NewExecAllocator(ctx, options...)
	ctx, endTab := chromedp.NewContext(ctx)
	end := func() { endTab(); endBrowser() }
	tab := &Tab{Context: ctx}
	chromedp.ListenTarget(ctx, tab.hear(address))
	err = chromedp.Run(ctx, network.Enable(), chromedp.EmulateViewport(width, height), chromedp.Navigate(address))
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("open %s: %w", address, err)
	}
	return tab, end, nil
}

func find() (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no browser in PATH: install chromium")
}

// hear takes note of errors in the page's script, and of requests for anything but the page.
func (t *Tab) hear(address string) func(any) {
	return func(event any) {
		switch e := event.(type) {
		case *cdpruntime.EventExceptionThrown:
			t.wrong("exception: " + e.ExceptionDetails.Error())
		case *cdpruntime.EventConsoleAPICalled:
			t.wrong("console: " + string(e.Type))
		case *network.EventRequestWillBeSent:
			if e.Request.URL != address {
				t.wrong("request: " + e.Request.URL)
			}
		}
	}
}

func (t *Tab) wrong(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrongs = append(t.wrongs, text)
}

// Wrongs is what the page did that it should not.
func (t *Tab) Wrongs() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wrongs
}
