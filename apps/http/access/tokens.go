package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/assay-dev/assay/ports"
)

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

// entry is a token of the file. The comments of its fields are the reference that people
// read.
type entry struct {
	// Name is the caller's, which stands in the log: 1 to 100 printable ASCII characters
	// without spaces, not beginning with "oidc:".
	Name string `yaml:"name"`
	// SHA256 is the SHA-256 of the token, 64 hexadecimal digits. The token itself is nowhere.
	SHA256 string `yaml:"sha256"`
	// Roles are by control plane, "*" for all: viewer, tester or admin.
	Roles map[string]string `yaml:"roles"`
	// Expires is when the token is taken no more; never if it is left out.
	Expires time.Time `yaml:"expires"`
	// Token is there to be refused.
	Token yaml.Node `yaml:"token"`

	digest Digest
	caller Caller
}

// Tokens are the callers of a file that holds their tokens' digests. It is safe for
// concurrent use.
type Tokens struct{ watched[[]entry] }

// OpenTokens reads a file of tokens. Every error names the file.
func OpenTokens(path string, clock ports.Clock, logger *slog.Logger) (*Tokens, error) {
	t := &Tokens{watched[[]entry]{path: path, what: "file of tokens", parse: parseTokens, clock: clock, log: logger}}
	if err := t.read(); err != nil {
		return nil, err
	}
	return t, nil
}

func parseTokens(text []byte) ([]entry, error) {
	var document struct {
		Tokens []entry `yaml:"tokens"`
	}
	if err := decodeOne(text, &document); err != nil {
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
	case strings.HasPrefix(e.Name, oidcPrefix):
		return fmt.Errorf("name: must not begin with %s, as the names of an issuer's callers do", oidcPrefix)
	case len(e.Roles) == 0:
		return errors.New("roles: must give a role on a control plane, or on \"*\" for all, such as {main: tester}")
	}
	digest, err := hex.DecodeString(e.SHA256)
	if err != nil || len(digest) != len(e.digest) {
		return errors.New("sha256: must be the SHA-256 of the token, 64 hexadecimal digits: `assay-server token` prints it")
	}
	if e.digest = Digest(digest); e.digest == DigestOf("") {
		return errors.New("sha256: is that of an empty text, so whoever gives no token would be let in: `assay-server token` makes a token and prints its digest")
	}
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
	entries, found := t.now(), -1
	for i := range entries {
		if subtle.ConstantTimeCompare(entries[i].digest[:], digest[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Caller{}, false
	}
	one := &entries[found]
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
	return fmt.Sprintf("  - name: %q\n    sha256: %q\n    roles: {%q: %s}\n", one.Name, one.SHA256, plane, role), token, nil
}
