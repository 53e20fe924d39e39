package planefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"

	"github.com/assay-dev/assay/core"
)

// document is the file. Its form is part of the public contract, as docs/how-to/http-server.md
// shows it.
type document struct {
	ControlPlanes map[string]plane `yaml:"controlPlanes"`
}

// plane is a control plane of the file. The comments of its fields are the reference that
// people read.
type plane struct {
	// URL is the deployment's address: https, or http for this machine.
	URL string `yaml:"url"`
	// TokenFile is a file that holds the token with which Coder is asked, not readable by
	// everybody; it is read anew each time, so the token can be renewed in place. Either
	// TokenFile or TokenEnv is needed.
	TokenFile string `yaml:"tokenFile"`
	// TokenEnv is the environment variable that holds the token, as it was when the server
	// started.
	TokenEnv string `yaml:"tokenEnv"`
	// Token is there to be refused.
	Token yaml.Node `yaml:"token"`
	// CAFile is a file with further certificate authorities in PEM.
	CAFile string `yaml:"caFile"`
	// ServerName is what the certificate must be for, if not the host of URL.
	ServerName string `yaml:"serverName"`
	// OwnerUserID is the ID of the user who owns the workspaces of tests, a UUID. Without it
	// tests wait with OwnerNotConfigured.
	OwnerUserID string `yaml:"ownerUserID"`
	// AllowRetain lets tests keep the workspaces of failures.
	AllowRetain bool `yaml:"allowRetain"`
	// AllowPrivilegedOwner allows an owner with roles beyond a plain member's. Each start
	// build hands a session token of the owner to the template's Terraform.
	AllowPrivilegedOwner bool `yaml:"allowPrivilegedOwner"`
	// AllowPersonalOwner allows an owner that is a person.
	AllowPersonalOwner bool `yaml:"allowPersonalOwner"`
	// Removed says that the control plane is gone for good: what is left of its tests is
	// given up. No other field is needed then.
	Removed bool `yaml:"removed"`
}

func (p plane) policy() core.Policy {
	return core.Policy{
		OwnerUserID: p.OwnerUserID, AllowRetain: p.AllowRetain, AllowPrivilegedOwner: p.AllowPrivilegedOwner, AllowPersonalOwner: p.AllowPersonalOwner,
	}
}

// namePattern is the rule for the names of control planes.
var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`)

func parse(text []byte) (map[string]plane, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var read document
	if err := decoder.Decode(&read); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("is empty: list control planes under controlPlanes")
		}
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("must hold one document")
	}
	if len(read.ControlPlanes) == 0 {
		return nil, errors.New("controlPlanes: must list at least one control plane")
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(read.ControlPlanes)) {
		errs = append(errs, read.ControlPlanes[name].validate(name))
	}
	return read.ControlPlanes, errors.Join(errs...)
}

// validate reports what breaks a rule.
func (p plane) validate(name string) error {
	var errs []error
	fail := func(field, rule string) {
		errs = append(errs, fmt.Errorf("controlPlanes.%s%s: %s", name, field, rule))
	}
	if !namePattern.MatchString(name) {
		fail("", "a name must be 1 to 64 lower-case letters, digits and '-', and begin and end with a letter or a digit")
	}
	if p.Token.Kind != 0 {
		fail(".token", fmt.Sprintf("line %d: a token must not be in this file: put it into a file of its own and name that as tokenFile, or name a variable as tokenEnv", p.Token.Line))
	}
	if p.Removed {
		return errors.Join(errs...)
	}
	if (p.TokenFile == "") == (p.TokenEnv == "") {
		fail("", "must set exactly one of tokenFile and tokenEnv")
	}
	if id, err := uuid.Parse(p.OwnerUserID); p.OwnerUserID != "" && (err != nil || id == uuid.Nil || len(p.OwnerUserID) != 36) {
		fail(".ownerUserID", "must be the ID of a Coder user, a UUID: `assay tester create` prints it")
	}
	return errors.Join(errs...)
}

// connection reads what the file names. The files are read anew each time, so that a
// token can be renewed in place.
func (f *File) connection(p plane) (core.Connection, error) {
	connection := core.Connection{URL: p.URL, ServerName: p.ServerName}
	if p.CAFile != "" {
		pem, err := readBounded(p.CAFile)
		if err != nil {
			return connection, fmt.Errorf("caFile: %w", err)
		}
		connection.CACertificates = string(pem)
	}
	token, err := f.token(p)
	if err != nil {
		return connection, err
	}
	connection.Token = token
	if token.Empty() {
		return connection, nil
	}
	return connection, f.CheckConnection(connection)
}

func (f *File) token(p plane) (core.Secret, error) {
	if p.TokenEnv != "" {
		value, _ := f.LookupEnv(p.TokenEnv)
		return core.NewSecret(strings.TrimSpace(value)), nil
	}
	info, err := os.Stat(p.TokenFile)
	if errors.Is(err, os.ErrNotExist) {
		return core.Secret{}, nil
	}
	if err == nil && info.Mode().Perm()&0o004 != 0 {
		return core.Secret{}, errors.New("tokenFile: every user of the machine can read it: take that right away (chmod o-r)")
	}
	var text []byte
	if err == nil {
		text, err = readBounded(p.TokenFile)
	}
	if err != nil {
		return core.Secret{}, fmt.Errorf("tokenFile: %w", withoutPath(err))
	}
	return core.NewSecret(strings.TrimSpace(string(text))), nil
}
