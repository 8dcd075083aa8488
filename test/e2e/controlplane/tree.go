package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
)

// Tree is where things are in the checkout.
type Tree struct {
	Root string // the repository
	E2E  string // test/e2e
}

// FindTree looks for the checkout from the working directory upwards.
func FindTree() (Tree, error) {
	dir, err := os.Getwd()
	if err != nil {
		return Tree{}, fmt.Errorf("find the checkout: %w", err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "kube", "main.go")); err == nil {
			return Tree{Root: filepath.Dir(filepath.Dir(dir)), E2E: dir}, nil
		}
	}
	return Tree{}, fmt.Errorf("find the checkout: no folder with kube/main.go above the working directory")
}

// Program is the file of a program that `make build` made.
func (t Tree) Program(name string) (string, error) {
	file := filepath.Join(t.E2E, "bin", name)
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("program %s: %w (run `make build` in %s)", name, err, t.E2E)
	}
	return file, nil
}
