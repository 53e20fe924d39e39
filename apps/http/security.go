package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"

	"github.com/spf13/cobra"
	"go.uber.org/fx"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/apps/http/page"
)

// security is what protects the server.
type security struct {
	guard *access.Guard
	// tls is nil where the server does not speak it.
	tls *tls.Config
}

func newSecurity(life fx.Lifecycle, env Env, options Options, pages *page.Pages, log *slog.Logger) (*security, error) {
	err := access.CheckListen(options.Listen, access.Security{
		Authentication: options.Tokens != "" || options.OIDCIssuer != "", TLS: options.TLSCert != "", BehindProxy: options.BehindProxy,
	})
	if err != nil {
		return nil, err
	}
	s := &security{}
	config := access.Config{
		Secure: options.TLSCert != "" || options.BehindProxy, Proxied: options.BehindProxy, RequestsPerSecond: options.RequestsPerSecond, Burst: options.Burst,
		Clock: env.Clock, Random: env.Random, Logger: log, Login: pages.Login,
	}
	if options.Tokens != "" {
		if config.Tokens, err = access.OpenTokens(options.Tokens, env.Clock, log); err != nil {
			return nil, fmt.Errorf("--tokens: %w", err)
		}
		goes(life, config.Tokens.Run)
	}
	if options.OIDCIssuer != "" {
		config.OIDC, err = access.NewOIDC(access.OIDCConfig{
			Issuer: options.OIDCIssuer, Audience: options.OIDCAudience, NameClaim: options.OIDCNameClaim, GroupsClaim: options.OIDCGroupsClaim,
			RolesFile: options.OIDCRoles, Clock: env.Clock, Logger: log,
		})
		if err != nil {
			return nil, err
		}
		goes(life, config.OIDC.Run)
	}
	if config.SessionKey, err = sessionKey(env, options); err != nil {
		return nil, err
	}
	if options.TLSCert != "" {
		if s.tls, err = access.TLS(options.TLSCert, options.TLSKey, log); err != nil {
			return nil, err
		}
	}
	s.guard, err = access.NewGuard(config)
	return s, err
}

// sessionKey reads the key of the page's sessions, or makes one for as long as the server
// lives.
func sessionKey(env Env, options Options) ([]byte, error) {
	if options.SessionKeyFile != "" {
		key, err := os.ReadFile(options.SessionKeyFile)
		if err != nil {
			return nil, fmt.Errorf("--session-key-file: %w", err)
		}
		if len(key) != access.SessionKeySize {
			return nil, fmt.Errorf("--session-key-file: must hold %d bytes, holds %d: make it with `head -c 32 /dev/urandom`", access.SessionKeySize, len(key))
		}
		return key, nil
	}
	key := make([]byte, access.SessionKeySize)
	if _, err := io.ReadFull(env.Random, key); err != nil {
		return nil, fmt.Errorf("make a key for sessions: %w", err)
	}
	return key, nil
}

// rootHandler is everything that the server serves.
type rootHandler http.Handler

const tokenLong = `Make a token for a caller, and the entry of the server's token file that knows it. The token
goes to the standard output, once; the entry to the standard error. The file holds the
token's SHA-256 only.`

func newTokenCommand(env Env, code *int) *cobra.Command {
	var role, plane string
	cmd := &cobra.Command{
		Use: "token NAME", Short: "Make a token for a caller", Long: tokenLong,
		Example: "  assay-server token nightly-bot --role tester --control-plane main > token",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, known := access.ParseRole(role); !known {
				return fmt.Errorf("--role: %q: must be viewer, tester or admin", role)
			}
			entry, token, err := access.NewEntry(args[0], plane, role, env.Random)
			if err != nil {
				return err
			}
			*code = exitFailed
			_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
			_, entryErr := fmt.Fprintf(cmd.ErrOrStderr(), "Add this to the file that --tokens names, below \"tokens:\":\n\n%s", entry)
			return errors.Join(err, entryErr)
		},
	}
	cmd.Flags().StringVar(&role, "role", "tester", "`ROLE` of the caller: viewer, tester or admin")
	cmd.Flags().StringVar(&plane, "control-plane", access.EveryPlane, "`NAME` of the control plane that the role is for, * for all")
	return cmd
}
