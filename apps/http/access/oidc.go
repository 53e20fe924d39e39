package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/sync/singleflight"

	"github.com/assay-dev/assay/ports"
)

// OIDCConfig says whose tokens are taken besides the file's.
type OIDCConfig struct {
	// Issuer is the issuer's URL, Audience who its tokens must be for.
	Issuer, Audience string
	// NameClaim names the caller; GroupsClaim lists its groups.
	NameClaim, GroupsClaim string
	// RolesFile says which roles groups have.
	RolesFile string
	Clock     ports.Clock
	Logger    *slog.Logger
}

// OIDC takes the ID tokens of one OpenID Connect issuer. It is safe for concurrent use.
type OIDC struct {
	OIDCConfig
	roles  watched[groupRoles]
	client *http.Client
	// asking has one request to the issuer for all who wait for its answer.
	asking   singleflight.Group
	verifier atomic.Pointer[oidc.IDTokenVerifier]
}

// groupRoles are the roles of each group, by control plane.
type groupRoles map[string]map[string]Role

// oidcPrefix begins the names of an issuer's callers, and those of no others.
const oidcPrefix = "oidc:"

// issuerTime bounds a request to the issuer.
const issuerTime = 10 * time.Second

// maxJWT bounds a token, in bytes.
const maxJWT = 16 << 10

// NewOIDC reads the file of roles. The issuer is asked when the first token comes.
func NewOIDC(config OIDCConfig) (*OIDC, error) {
	issuer, err := url.Parse(config.Issuer)
	if err != nil || issuer.Host == "" || issuer.Scheme != "https" && (issuer.Scheme != "http" || !isLoopback(issuer.Hostname())) {
		return nil, errors.New("--oidc-issuer: must be a URL that begins with https://: whoever can change the issuer's keys on their way is everybody")
	}
	o := &OIDC{OIDCConfig: config, client: &http.Client{Timeout: issuerTime}}
	o.roles = watched[groupRoles]{path: config.RolesFile, what: "file of roles", parse: parseRoles, clock: config.Clock, log: config.Logger}
	if err := o.roles.read(); err != nil {
		return nil, fmt.Errorf("--oidc-roles: %w", err)
	}
	return o, nil
}

// Run reads the file of roles again whenever it changes, until ctx is done. A file that
// cannot be used leaves the roles as they were, and is logged once.
func (o *OIDC) Run(ctx context.Context) { o.roles.Run(ctx) }

// rolesDocument is the file of roles. The comments of its fields are the reference that
// people read.
type rolesDocument struct {
	// Groups are the roles of each group, by control plane, "*" for all: viewer, tester or
	// admin. Somebody in several groups has the largest of their roles.
	Groups map[string]map[string]string `yaml:"groups"`
}

func parseRoles(text []byte) (groupRoles, error) {
	var document rolesDocument
	if err := decodeOne(text, &document); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(document.Groups) == 0 {
		return nil, errors.New("groups: must give roles to at least one group, such as {platform-team: {main: admin}}")
	}
	roles := groupRoles{}
	for group, planes := range document.Groups {
		roles[group] = map[string]Role{}
		for plane, name := range planes {
			role, known := ParseRole(name)
			if !known {
				return nil, fmt.Errorf("groups.%s.%s: %q: must be viewer, tester or admin", group, plane, name)
			}
			roles[group][plane] = role
		}
	}
	return roles, nil
}

// Errors of a token.
var (
	// errIssuer: the issuer cannot be asked, so nobody knows.
	errIssuer = errors.New("the OpenID Connect issuer does not answer")
	errToken  = errors.New("the token does not count")
)

// looksLikeJWT tells tokens of an issuer from those of the file.
func looksLikeJWT(token string) bool { return strings.Count(token, ".") == 2 }

// caller is whose token it is, and when it ends. errToken: nobody's; errIssuer: nobody
// knows now.
func (o *OIDC) caller(ctx context.Context, token string) (identity, error) {
	if len(token) > maxJWT {
		return identity{}, errToken
	}
	verifier, err := o.discovered(ctx)
	if err != nil {
		return identity{}, errIssuer
	}
	verified, err := verifier.Verify(oidc.ClientContext(ctx, o.client), token)
	if err != nil {
		if strings.Contains(err.Error(), "fetching keys") {
			return identity{}, errIssuer
		}
		return identity{}, errToken
	}
	claims := map[string]json.RawMessage{}
	if err := verified.Claims(&claims); err != nil {
		return identity{}, errToken
	}
	who := identity{Expires: verified.Expiry}
	if json.Unmarshal(claims[o.NameClaim], &who.Name) != nil || who.Name == "" || len(who.Name) > 200 {
		return identity{}, errToken
	}
	if groups := claims[o.GroupsClaim]; groups != nil && json.Unmarshal(groups, &who.Groups) != nil {
		var one string
		if json.Unmarshal(groups, &one) != nil {
			return identity{}, errToken
		}
		who.Groups = []string{one}
	}
	// Somebody can be in more groups than a session's cookie holds.
	roles := o.roles.now()
	who.Groups = slices.DeleteFunc(who.Groups, func(group string) bool { return roles[group] == nil })
	return who, nil
}

// identity is somebody whom the issuer knows.
type identity struct {
	Name    string    `json:"name"`
	Groups  []string  `json:"groups,omitempty"`
	Expires time.Time `json:"expires"`
}

// rolesOf are the roles of somebody's groups, the largest for each control plane. The name
// is told apart from those of the file.
func (o *OIDC) rolesOf(who identity) Caller {
	caller := Caller{Name: oidcPrefix + who.Name, Roles: map[string]Role{}}
	roles := o.roles.now()
	for _, group := range who.Groups {
		for plane, role := range roles[group] {
			caller.Roles[plane] = max(caller.Roles[plane], role)
		}
	}
	return caller
}

// discovered asks the issuer for its keys' address, until it answered once. All who need it
// wait for the same request, each as long as it likes.
func (o *OIDC) discovered(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	if verifier := o.verifier.Load(); verifier != nil {
		return verifier, nil
	}
	answer := o.asking.DoChan("", func() (any, error) {
		// The keys are fetched with this context later, so it must not end with a request.
		provider, err := oidc.NewProvider(oidc.ClientContext(context.Background(), o.client), o.Issuer)
		if err != nil {
			return nil, err
		}
		verifier := provider.Verifier(&oidc.Config{ClientID: o.Audience, Now: o.Clock.Now})
		o.verifier.Store(verifier)
		return verifier, nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-answer:
		verifier, _ := got.Val.(*oidc.IDTokenVerifier)
		return verifier, got.Err
	}
}
