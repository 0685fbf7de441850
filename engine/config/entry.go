package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"vise/engine/guard"
)

var serverName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)

// address checks an http address. User names in it are refused: they carry a
// password into logs.
func address(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return errors.New("it has to start with http:// or https:// and name a host")
	case u.User != nil:
		return errors.New("it holds a user name or password; name the key by reference instead")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("it must not hold a query or a fragment")
	}
	return nil
}

func regular(s string) error {
	if len(s) > 1000 {
		return errors.New("it is longer than 1000 bytes")
	}
	if _, err := regexp.Compile(s); err != nil {
		return err
	}
	return nil
}

func host(s string) error {
	_, err := guard.ParseHost(s)
	return err
}

// homeEntry is a path below the home folder, which is not the folder itself.
func homeEntry(s string) error {
	if s == "." || !filepath.IsLocal(s) || strings.ContainsRune(s, 0) {
		return fmt.Errorf("%s is not a path below your home folder", quote(s))
	}
	return nil
}

func nonEmpty(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("it is empty")
	}
	return path(s)
}

func path(s string) error {
	if strings.ContainsRune(s, 0) {
		return errors.New("it holds a NUL")
	}
	return nil
}
