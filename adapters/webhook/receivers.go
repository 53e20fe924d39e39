// Package webhook tells receivers over HTTP what became of tests. What is to be told is
// stored with the change that it tells of, and sent until the receiver takes it: at least
// once, so a receiver tells repeated messages apart by their IDs.
package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/assay-dev/assay/core"
)

// The events.
const (
	// EventFinished: the test has its verdict.
	EventFinished = "test.finished"
	// EventCleanedUp: nothing more happens to the test by itself, and its workspace is
	// gone, retained, or given up.
	EventCleanedUp = "test.cleaned-up"
)

var events = []string{EventFinished, EventCleanedUp}

// Receiver is somebody who wants to hear of tests. The comments of its fields are the
// reference that people read.
type Receiver struct {
	// Name tells it apart: 1 to 64 lower-case letters, digits and '-'.
	Name string `yaml:"name"`
	// URL is where messages are sent: https, or with AllowPrivate http.
	URL string `yaml:"url"`
	// SecretFile is a file with the secret that messages are signed with, 16 characters or
	// more. Either SecretFile or SecretEnv is needed.
	SecretFile string `yaml:"secretFile"`
	// SecretEnv is the environment variable that holds the secret.
	SecretEnv string `yaml:"secretEnv"`
	// Events are those that it wants: test.finished, test.cleaned-up. All of them if it is
	// left out.
	Events []string `yaml:"events"`
	// ControlPlanes are those whose tests it hears of. All of them if it is left out.
	ControlPlanes []string `yaml:"controlPlanes"`
	// AllowPrivate lets it be on a private network or this machine, and without TLS.
	AllowPrivate bool `yaml:"allowPrivate"`

	secret core.Secret
}

// wants reports whether the receiver is to hear of an event of a test.
func (r *Receiver) wants(event, controlPlane string) bool {
	return (len(r.Events) == 0 || slices.Contains(r.Events, event)) &&
		(len(r.ControlPlanes) == 0 || slices.Contains(r.ControlPlanes, controlPlane))
}

// maxBytes bounds the file of receivers, and each secret's.
const maxBytes = 1 << 20

// Read reads the receivers of a file, with their secrets. Errors name the receiver and the
// field, and hold no secret.
func Read(path string, lookupEnv func(name string) (string, bool)) ([]Receiver, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("%s: others than its owner can write it, and so be told of tests: take that right away (chmod go-w)", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%s: is larger than 1 MiB", path)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var document struct {
		Receivers []Receiver `yaml:"receivers"`
	}
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(document.Receivers) == 0 {
		return nil, fmt.Errorf("%s: list receivers under receivers", path)
	}
	var errs []error
	names := map[string]bool{}
	for i := range document.Receivers {
		r := &document.Receivers[i]
		err := r.resolve(lookupEnv)
		if err == nil && names[r.Name] {
			err = errors.New("name: is used twice")
		}
		names[r.Name] = true
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: receivers[%d]: %w", path, i, err))
		}
	}
	return document.Receivers, errors.Join(errs...)
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`)

// minSecret is the least length of a secret, in bytes.
const minSecret = 16

func (r *Receiver) resolve(lookupEnv func(string) (string, bool)) error {
	if !namePattern.MatchString(r.Name) {
		return errors.New("name: must be 1 to 64 lower-case letters, digits and '-', and begin and end with a letter or a digit")
	}
	parsed, err := url.Parse(r.URL)
	if err != nil || parsed.Host == "" || parsed.User != nil {
		return errors.New("url: must be one such as https://hooks.example.com/assay, without a password")
	}
	if parsed.Scheme != "https" && (parsed.Scheme != "http" || !r.AllowPrivate) {
		return errors.New("url: must begin with https://; http:// is for receivers with allowPrivate")
	}
	for _, event := range r.Events {
		if !slices.Contains(events, event) {
			return fmt.Errorf("events: %q: must be among %s", event, strings.Join(events, ", "))
		}
	}
	if (r.SecretFile == "") == (r.SecretEnv == "") {
		return errors.New("must set exactly one of secretFile and secretEnv: messages are signed with it")
	}
	secret, _ := lookupEnv(r.SecretEnv)
	if r.SecretFile != "" {
		text, err := os.ReadFile(r.SecretFile)
		if err != nil {
			return fmt.Errorf("secretFile: %w", err)
		}
		secret = string(text)
	}
	if r.secret = core.NewSecret(strings.TrimSpace(secret)); len(r.secret.Reveal()) < minSecret {
		return fmt.Errorf("its secret must have %d characters or more", minSecret)
	}
	return nil
}
