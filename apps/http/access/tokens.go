package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/assay-dev/assay/ports"
)

// ReloadInterval is how often the file of tokens is looked at.
const ReloadInterval = 5 * time.Second

// TokenPrefix is how tokens of a server begin, so that people and scanners know them.
const TokenPrefix = "assay_"

// Digest is the SHA-256 of a token. The tokens have 256 random bits, so nobody finds one by
// its digest.
type Digest [sha256.Size]byte

// DigestOf is the digest of a token.
func DigestOf(token string) Digest { return sha256.Sum256([]byte(token)) }

// NewToken makes a token.
func NewToken(random io.Reader) (token string, err error) {
	var bits [32]byte
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return TokenPrefix + base64.RawURLEncoding.EncodeToString(bits[:]), nil
}

// entry is a token of the file.
type entry struct {
	Name   string            `yaml:"name"`
	SHA256 string            `yaml:"sha256"`
	Roles  map[string]string `yaml:"roles"`
	// Expires is when the token is taken no more; never if zero.
	Expires time.Time `yaml:"expires"`
	// Token is there to be refused.
	Token yaml.Node `yaml:"token"`

	digest Digest
	caller Caller
}

// Tokens are the callers of a file that holds their tokens' digests. It is safe for
// concurrent use.
type Tokens struct {
	path  string
	clock ports.Clock
	log   *slog.Logger

	mu      sync.Mutex
	text    []byte
	entries []entry
	problem string
}

// OpenTokens reads a file of tokens. Every error names the file.
func OpenTokens(path string, clock ports.Clock, logger *slog.Logger) (*Tokens, error) {
	t := &Tokens{path: path, clock: clock, log: logger}
	if err := t.read(); err != nil {
		return nil, err
	}
	return t, nil
}

// Run reads the file again whenever it changes, until ctx is done. A file that cannot be
// used leaves the callers as they were, and is logged once.
func (t *Tokens) Run(ctx context.Context) {
	for {
		due := make(chan struct{})
		timer := t.clock.AfterFunc(ReloadInterval, func() { close(due) })
		select {
		case <-due:
			t.refresh()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (t *Tokens) refresh() {
	problem := ""
	if err := t.read(); err != nil {
		problem = err.Error()
	}
	t.mu.Lock()
	before := t.problem
	t.problem = problem
	t.mu.Unlock()
	switch {
	case problem != "" && problem != before:
		t.log.Error("the file of tokens cannot be used; the callers stay as they were", "error", problem)
	case problem == "" && before != "":
		t.log.Info("the file of tokens can be used again", "file", t.path)
	}
}

// maxTokensBytes bounds the file.
const maxTokensBytes = 1 << 20

func (t *Tokens) read() error {
	info, err := os.Stat(t.path)
	switch {
	case err != nil:
		return err
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s: others than its owner can write it, and so give themselves roles: take that right away (chmod go-w)", t.path)
	case info.Size() > maxTokensBytes:
		return fmt.Errorf("%s: is larger than 1 MiB", t.path)
	}
	text, err := os.ReadFile(t.path)
	if err != nil {
		return err
	}
	t.mu.Lock()
	same := t.text != nil && bytes.Equal(text, t.text)
	t.mu.Unlock()
	if same {
		return nil
	}
	entries, err := parseTokens(text)
	if err != nil {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text, t.entries = text, entries
	return nil
}

func parseTokens(text []byte) ([]entry, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var document struct {
		Tokens []entry `yaml:"tokens"`
	}
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("is empty: list tokens under tokens, or write tokens: []")
		}
		return nil, err
	}
	names, digests := map[string]bool{}, map[Digest]bool{}
	for i := range document.Tokens {
		one := &document.Tokens[i]
		if err := one.resolve(); err != nil {
			return nil, fmt.Errorf("tokens[%d]: %w", i, err)
		}
		if names[one.Name] || digests[one.digest] {
			return nil, fmt.Errorf("tokens[%d]: the name %q or its sha256 is used twice", i, one.Name)
		}
		names[one.Name], digests[one.digest] = true, true
	}
	return document.Tokens, nil
}

// resolve checks an entry and makes its caller.
func (e *entry) resolve() error {
	switch {
	case e.Token.Kind != 0:
		return fmt.Errorf("line %d: token: a token must not be in this file: write its SHA-256 as sha256", e.Token.Line)
	case e.Name == "" || len(e.Name) > 100 || strings.ContainsFunc(e.Name, func(c rune) bool { return c <= ' ' || c > '~' }):
		return errors.New("name: must be 1 to 100 printable ASCII characters without spaces")
	case len(e.Roles) == 0:
		return errors.New("roles: must give a role on a control plane, or on \"*\" for all, such as {main: tester}")
	}
	digest, err := hex.DecodeString(e.SHA256)
	if err != nil || len(digest) != len(e.digest) {
		return errors.New("sha256: must be the SHA-256 of the token, 64 hexadecimal digits: `assay-server token` prints it")
	}
	e.digest = Digest(digest)
	e.caller = Caller{Name: e.Name, Roles: map[string]Role{}}
	for plane, name := range e.Roles {
		role, known := ParseRole(name)
		if !known {
			return fmt.Errorf("roles.%s: %q: must be viewer, tester or admin", plane, name)
		}
		e.caller.Roles[plane] = role
	}
	return nil
}

// Find is the caller whose token has the digest; false for none. It takes as long for each
// digest.
func (t *Tokens) Find(digest Digest) (Caller, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := -1
	for i := range t.entries {
		if subtle.ConstantTimeCompare(t.entries[i].digest[:], digest[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Caller{}, false
	}
	one := &t.entries[found]
	if !one.Expires.IsZero() && !t.clock.Now().Before(one.Expires) {
		return Caller{}, false
	}
	return one.caller, true
}

// NewEntry makes a token for a caller, and the text of the file's entry that knows it.
func NewEntry(name, plane, role string, random io.Reader) (text, token string, err error) {
	if token, err = NewToken(random); err != nil {
		return "", "", err
	}
	digest := DigestOf(token)
	one := entry{Name: name, SHA256: hex.EncodeToString(digest[:]), Roles: map[string]string{plane: role}}
	if err := one.resolve(); err != nil {
		return "", "", err
	}
	return fmt.Sprintf("  - name: %s\n    sha256: %s\n    roles: {%q: %s}\n", one.Name, one.SHA256, plane, role), token, nil
}
