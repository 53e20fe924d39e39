package cli

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/core"
)

// The environment variables that the coder command uses too.
const (
	envURL       = "CODER_URL"
	envToken     = "CODER_SESSION_TOKEN"
	envConfigDir = "CODER_CONFIG_DIR"
)

// connectionHelp says where the connection comes from.
const connectionHelp = `The deployment's address is --url, else CODER_URL, else the one that
"coder login" stored. The token is read from --token-file, else CODER_SESSION_TOKEN,
else what "coder login" stored for the same address. A token is never an argument:
arguments are visible to every user of the machine.`

// connectionFlags say which deployment is asked, and as whom.
type connectionFlags struct {
	url, caFile, tokenFile string
	insecureHTTP           bool
}

func (f *connectionFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "url", "", "`URL` of the Coder deployment")
	flags.StringVar(&f.caFile, "ca-file", "", "`FILE` with further certificate authorities in PEM")
	flags.StringVar(&f.tokenFile, "token-file", "", "`FILE` that holds the session token")
	flags.BoolVar(&f.insecureHTTP, "insecure-http", false, "allow http:// to other hosts than this one; the token travels in plain text")
}

// resolve finds the connection. Every error is a usage error, names the flag or the
// variable that it is about, and holds no token.
func (f *connectionFlags) resolve(env Env) (core.Connection, error) {
	return f.resolveWith(env, f.token)
}

// resolveWith finds the connection with a token from elsewhere.
func (f *connectionFlags) resolveWith(
	env Env, find func(env Env, login login, address string) (core.Secret, error),
) (core.Connection, error) {
	login := readLogin(env)
	address, err := f.address(env, login)
	if err != nil {
		return core.Connection{}, err
	}
	token, err := find(env, login, address)
	if err != nil {
		return core.Connection{}, err
	}
	connection := core.Connection{URL: address, Token: token}
	if f.caFile != "" {
		pem, err := os.ReadFile(f.caFile)
		if err != nil {
			return core.Connection{}, usage("--ca-file: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			return core.Connection{}, usage("--ca-file: %s holds no certificate in PEM (\"-----BEGIN CERTIFICATE-----\")", f.caFile)
		}
		connection.CACertificates = string(pem)
	}
	return connection, nil
}

// storedLogin is how messages name what "coder login" stored.
const storedLogin = `what "coder login" stored`

// address finds the deployment's URL.
func (f *connectionFlags) address(env Env, login login) (string, error) {
	address, from, err := f.named(env, login)
	switch {
	case err != nil:
		return "", err
	case address == "":
		return "", usage("no Coder deployment is named: give --url, set %s, or run \"coder login\"", envURL)
	case coder.SendsTokenInClear(address) && !f.insecureHTTP:
		return "", usage("%s: %q: the token would travel in plain text: use https, or accept that with --insecure-http", from, address)
	}
	return address, nil
}

// named finds the URL that is named, and where; empty when none is. It can be shown:
// one with a password is an error.
func (f *connectionFlags) named(env Env, login login) (address, from string, err error) {
	for _, place := range []struct{ name, value string }{
		{"--url", f.url}, {envURL, env.lookup(envURL)}, {storedLogin, login.url},
	} {
		address := strings.TrimSpace(place.value)
		if address == "" {
			continue
		}
		if err := coder.CheckURL(address); err != nil {
			return "", "", usage("%s: %w", place.name, err)
		}
		return address, place.name, nil
	}
	return "", "", nil
}

// token finds the session token for the address.
func (f *connectionFlags) token(env Env, login login, address string) (core.Secret, error) {
	if f.tokenFile != "" {
		return tokenFrom("--token-file", f.tokenFile)
	}
	if token := strings.TrimSpace(env.lookup(envToken)); token != "" {
		return checkedToken(envToken, token)
	}
	switch {
	case login.token == "":
		return core.Secret{}, usage("no token: give --token-file, set %s, or run \"coder login %s\" "+
			"(with --use-keyring=false on macOS and Windows, where it would put the token into the keyring)", envToken, address)
	case !sameAddress(login.url, address):
		// The token of one deployment is no other's business.
		other := login.url
		if coder.CheckURL(other) != nil {
			// It can hold a password.
			other = "another address"
		}
		return core.Secret{}, usage("no token for %s: \"coder login\" stored one for %s; give --token-file, set %s, or log in there",
			address, other, envToken)
	}
	return checkedToken(storedLogin, login.token)
}

// tokenFrom reads the file that a flag names.
func tokenFrom(flag, path string) (core.Secret, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return core.Secret{}, usage("%s: %w: name a file that holds a session token", flag, err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return core.Secret{}, usage("%s: %s is empty: put a session token into it", flag, path)
	}
	return checkedToken(flag+": "+path, token)
}

// checkedToken refuses what cannot be a token. The error names where it is from.
func checkedToken(from, token string) (core.Secret, error) {
	secret := core.NewSecret(token)
	if err := coder.CheckToken(secret); err != nil {
		return core.Secret{}, usage("%s: is no session token: %w", from, err)
	}
	return secret, nil
}

// login is what "coder login" stored; empty where it stored nothing.
type login struct{ url, token string }

// readLogin reads the files of the coder command. Whatever cannot be read counts as
// not there: the errors that follow name the ways out.
func readLogin(env Env) login {
	dir := firstOf(env.lookup(envConfigDir), defaultConfigDir(env))
	if dir == "" {
		return login{}
	}
	return login{url: readLine(filepath.Join(dir, "url")), token: readLine(filepath.Join(dir, "session"))}
}

func readLine(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// defaultConfigDir is where the coder command keeps its files unless told otherwise.
func defaultConfigDir(env Env) string {
	var base string
	switch env.GOOS {
	case "windows":
		base = env.lookup("APPDATA")
	case "darwin":
		base = below(env.lookup("HOME"), "Library", "Application Support")
	default:
		base = firstOf(env.lookup("XDG_CONFIG_HOME"), below(env.lookup("HOME"), ".config"))
	}
	return below(base, "coderv2")
}

// statePath is the state file: what was given, else the platform's place for it.
func statePath(env Env, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	base := env.lookup("XDG_STATE_HOME")
	switch {
	case base != "":
	case env.GOOS == "windows":
		base = env.lookup("LOCALAPPDATA")
	default:
		base = below(env.lookup("HOME"), ".local", "state")
	}
	if base == "" {
		return "", usage("no place for the state file: give --state FILE, or set HOME or XDG_STATE_HOME")
	}
	return filepath.Join(base, "assay", "assay.db"), nil
}

// stateFileExists reports whether there is a state file to read.
func stateFileExists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, failure(fmt.Errorf("look for the state file: %w", err))
	}
	return true, nil
}

// sameAddress compares addresses as Coder's users write them.
func sameAddress(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, "/"), strings.TrimRight(b, "/"))
}

// below joins a path, and keeps an unknown base unknown.
func below(base string, parts ...string) string {
	if base == "" {
		return ""
	}
	return filepath.Join(append([]string{base}, parts...)...)
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}
