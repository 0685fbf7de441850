package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"vise/engine/guard"
)

// client posts requests to one address.
type client struct {
	address string
	headers map[string]string
	http    *http.Client
}

// tracesPath is where an OTLP/HTTP receiver takes traces (OTLP specification).
const tracesPath = "/v1/traces"

func newClient(endpoint string, headers map[string]string) (*client, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("export.otlp_endpoint %q is no address; it looks like http://127.0.0.1:4318", endpoint)
	}
	if u.Path = strings.TrimSuffix(u.Path, "/"); !strings.HasSuffix(u.Path, tracesPath) {
		u.Path += tracesPath
	}
	return &client{address: u.String(), headers: headers, http: &http.Client{
		Timeout:   sendTimeout,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true},
		// A body with transcripts goes where the developer said, nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }

// passing is a failure after which the same request may succeed.
type passing struct{ error }

func (p *passing) Unwrap() error { return p.error }

// post sends a request, at most tries times when the failure may pass.
func (c *client) post(ctx context.Context, body []byte, tries int) error {
	for try := 1; ; try++ {
		err := c.once(ctx, body)
		var p *passing
		if !errors.As(err, &p) || try >= tries {
			return err
		}
		select {
		case <-time.After(retryAfter << (try - 1)):
		case <-ctx.Done():
			return err
		}
	}
}

func (c *client) once(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return &passing{err}
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &passing{fmt.Errorf("%s answers %s", c.address, resp.Status)}
	}
	return fmt.Errorf("%s answers %s: %s", c.address, resp.Status, guard.Line(string(said), 120))
}
