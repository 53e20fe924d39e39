package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"go.yaml.in/yaml/v3"

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
}

// OIDC takes the ID tokens of one OpenID Connect issuer. It is safe for concurrent use.
type OIDC struct {
	OIDCConfig
	roles  map[string]map[string]Role
	client *http.Client

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
}

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
	if o.roles, err = readRoles(config.RolesFile); err != nil {
		return nil, fmt.Errorf("--oidc-roles: %s: %w", config.RolesFile, err)
	}
	return o, nil
}

func readRoles(path string) (map[string]map[string]Role, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var document struct {
		Groups map[string]map[string]string `yaml:"groups"`
	}
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	if len(document.Groups) == 0 {
		return nil, errors.New("groups: must give roles to at least one group, such as {platform-team: {main: admin}}")
	}
	roles := map[string]map[string]Role{}
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
	caller := Caller{Name: "oidc:" + who.Name, Roles: map[string]Role{}}
	for _, group := range who.Groups {
		for plane, role := range maps.All(o.roles[group]) {
			caller.Roles[plane] = max(caller.Roles[plane], role)
		}
	}
	return caller
}

// discovered asks the issuer for its keys' address, once.
func (o *OIDC) discovered(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.verifier != nil {
		return o.verifier, nil
	}
	// The keys are fetched with this context later, so it must not end with the request.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), o.client), o.Issuer)
	if err != nil {
		return nil, err
	}
	o.verifier = provider.Verifier(&oidc.Config{ClientID: o.Audience, Now: o.Clock.Now})
	return o.verifier, nil
}
