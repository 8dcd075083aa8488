package proxmox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
)

// upload sends an ISO image; the task that it begins puts it into place, over one of the same name. The library's own
// upload listens to no context and knows no checksum.
func (c *client) upload(ctx context.Context, op, node, storage, name string, image []byte) (upid, error) {
	body := &bytes.Buffer{}
	form := multipart.NewWriter(body)
	sum := sha256.Sum256(image)
	for _, field := range [][2]string{{"content", "iso"}, {"checksum-algorithm", "sha256"}, {"checksum", hex.EncodeToString(sum[:])}} {
		if err := form.WriteField(field[0], field[1]); err != nil {
			return upid{}, typed(op, err)
		}
	}
	file, err := form.CreateFormFile("filename", name) // the file comes last: what follows it is not read
	if err == nil {
		_, err = file.Write(image)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return upid{}, typed(op, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+storagePath(node, storage)+"/upload", bytes.NewReader(body.Bytes()))
	if err != nil {
		return upid{}, typed(op, err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	resp, err := c.http.Do(req)
	if err != nil {
		return upid{}, c.typed(ctx, op, err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Data string `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return upid{}, c.typed(ctx, op, err)
	}
	id, err := parseUPID(answer.Data)
	return id, c.typed(ctx, op, err)
}

func storagePath(node, storage string) string {
	return "/nodes/" + url.PathEscape(node) + "/storage/" + url.PathEscape(storage)
}

// holds says whether a storage has this volume, as its host sees it.
func (c *client) holds(ctx context.Context, op, node, storage, volume string) (bool, error) {
	var volumes []struct {
		ID string `json:"volid"`
	}
	if err := c.get(ctx, op, storagePath(node, storage)+"/content?content=iso", &volumes); err != nil {
		return false, err
	}
	for _, v := range volumes {
		if v.ID == volume {
			return true, nil
		}
	}
	return false, nil
}

// removeVolume asks for the end of a volume and waits up to five seconds for it. That it is gone, holds says.
func (c *client) removeVolume(ctx context.Context, op, node, storage, volume string) error {
	var task *string
	path := storagePath(node, storage) + "/content/" + volume // with its slash, as Proxmox VE's own pages ask
	return c.typed(ctx, op, c.pve.DeleteWithParams(ctx, path, map[string]any{"delay": 5}, &task))
}
