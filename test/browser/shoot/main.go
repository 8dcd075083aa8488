// Shoot takes the pictures of the documentation: it opens a page in a browser without a screen and saves what one element of
// it shows.
//
//	go run ./shoot PAGE SELECTOR PICTURE.png
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/muster-sh/muster/test/browser"
)

const width, height = 1000, 900

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: shoot PAGE SELECTOR PICTURE.png")
		os.Exit(2)
	}
	if err := shoot(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "shoot:", err)
		os.Exit(1)
	}
}

func shoot(page, selector, picture string) error {
	path, err := filepath.Abs(page)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tab, end, err := browser.Open(ctx, "file://"+path, width, height)
	if err != nil {
		return err
	}
	defer end()
	var png []byte
	if err := chromedp.Run(tab, chromedp.Screenshot(selector, &png, chromedp.ByQuery, chromedp.NodeVisible)); err != nil {
		return fmt.Errorf("%s of %s: %w", selector, page, err)
	}
	return os.WriteFile(picture, png, 0o644)
}
