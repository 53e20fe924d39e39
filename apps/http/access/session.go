package access

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// SessionTime is how long a session of the page lasts.
const SessionTime = 12 * time.Hour

// SessionKeySize is the size of the key that seals sessions, in bytes.
const SessionKeySize = 32

// maxCookie bounds the value of a cookie, in bytes: browsers keep 4,096 with the name.
const maxCookie = 4000

// errTooLarge: a browser would not keep the session.
var errTooLarge = errors.New("the session does not fit into a cookie")

// session is what a browser keeps, sealed: which token it showed. The token itself is not
// in it, and the session ends when the token does.
type session struct {
	// Digest is that of a token of the file; OIDC is whom an issuer's token named.
	Digest  Digest    `json:"digest,omitzero"`
	OIDC    *identity `json:"oidc,omitempty"`
	Expires time.Time `json:"expires"`
}

// sessions seals and opens sessions.
type sessions struct {
	sealer cipher.AEAD
	random io.Reader
	// secure: the browser reaches the server by TLS.
	secure bool
}

func newSessions(key []byte, random io.Reader, secure bool) (*sessions, error) {
	if len(key) != SessionKeySize {
		return nil, fmt.Errorf("the key of the sessions must have %d bytes, has %d", SessionKeySize, len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	sealer, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &sessions{sealer: sealer, random: random, secure: secure}, nil
}

// name is the cookie's. With the prefix a browser takes it by TLS alone, and for this host
// alone.
func (s *sessions) name() string {
	if s.secure {
		return "__Host-assay"
	}
	return "assay"
}

func (s *sessions) cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: s.name(), Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteStrictMode,
	}
}

// begin is the cookie of a new session; errTooLarge where a browser would not keep it.
func (s *sessions) begin(begun session, now time.Time) (*http.Cookie, error) {
	begun.Expires = now.Add(SessionTime)
	if begun.OIDC != nil && begun.OIDC.Expires.Before(begun.Expires) {
		begun.Expires = begun.OIDC.Expires
	}
	text, err := json.Marshal(begun)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, s.sealer.NonceSize())
	if _, err := io.ReadFull(s.random, nonce); err != nil {
		return nil, fmt.Errorf("begin a session: %w", err)
	}
	sealed := s.sealer.Seal(nonce, nonce, text, []byte(s.name()))
	value := base64.RawURLEncoding.EncodeToString(sealed)
	if len(value) > maxCookie {
		return nil, errTooLarge
	}
	return s.cookie(value, int(SessionTime/time.Second)), nil
}

// end is the cookie that ends the session.
func (s *sessions) end() *http.Cookie { return s.cookie("", -1) }

// of is the request's session; false for none, and for one that is forged or over.
func (s *sessions) of(r *http.Request, now time.Time) (opened session, found bool) {
	cookie, err := r.Cookie(s.name())
	if err != nil {
		return session{}, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(sealed) < s.sealer.NonceSize() {
		return session{}, false
	}
	text, err := s.sealer.Open(nil, sealed[:s.sealer.NonceSize()], sealed[s.sealer.NonceSize():], []byte(s.name()))
	if err != nil {
		return session{}, false
	}
	if json.Unmarshal(text, &opened) != nil || !now.Before(opened.Expires) {
		return session{}, false
	}
	return opened, true
}
