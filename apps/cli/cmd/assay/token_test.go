package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTokensThatAreNone is refused before Coder is asked, with the place that the token
// is from and without the token.
func TestTokensThatAreNone(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.serve(tr.coder())
	tr.secrets = append(tr.secrets, "hunter2")
	variable := func(token string) line {
		return line{Args: testActive(), Env: map[string]string{"CODER_SESSION_TOKEN": token}}
	}
	// A file wins over the token in the environment, which is good.
	file := func(name string) line { return line{Args: testActive("--token-file", name)} }
	written := func(name, content string) line { return file(tr.file(name, content, 0o600)) }
	login := func(dir, address, token string) line {
		l := variable("")
		l.Env["CODER_CONFIG_DIR"] = tr.login(dir, address, token)
		return l
	}
	none := "no token: give --token-file, set CODER_SESSION_TOKEN, or run \"coder login " + tr.env["CODER_URL"] + "\""
	const blank = "is no session token: it holds a space, a line break or another character that no token has"
	rows := []refusal{
		{"an empty token, as a CI system gives for a secret that is not set", variable(""), []string{none}},
		{"blanks", variable(" \t\n"), []string{none}},
		{"a blank inside", variable("hunter2 hunter2"), []string{"CODER_SESSION_TOKEN: " + blank}},
		{"a line end inside", variable("hunter2\nhunter2"), []string{"CODER_SESSION_TOKEN: " + blank}},
		{"a letter that none has", variable("hunter2é"), []string{"CODER_SESSION_TOKEN: " + blank}},

		{"an empty file", written("empty", ""), []string{"--token-file: ", "empty is empty: put a session token into it"}},
		{"a file of blanks", written("blanks", "\n \n"), []string{"--token-file: ", "blanks is empty: put a session token into it"}},
		{"a file of two lines", written("two", "hunter2\nhunter2\n"), []string{"--token-file: ", "two: " + blank}},
		{"a file that is not there", file("missing"), []string{"--token-file: open missing: no such file or directory: name a file that holds a session token"}},
		{"a folder", file("."), []string{"--token-file: read .: is a directory: name a file that holds a session token"}},

		{"a login that broke", login("broken", tr.env["CODER_URL"], "hunter2 hunter2"), []string{"what \"coder login\" stored: " + blank}},
		{"the login of another deployment", login("other", "https://other.example.com", "hunter2"), []string{
			"no token for " + tr.env["CODER_URL"] + ": \"coder login\" stored one for https://other.example.com; give --token-file, set CODER_SESSION_TOKEN, or log in there",
		}},
		{"the login of another deployment, with a password in its address", login("password", "https://jane:hunter2@other.example.com", "hunter2"), []string{
			"no token for " + tr.env["CODER_URL"] + ": \"coder login\" stored one for another address; give --token-file",
		}},
		{"a token as an argument", line{Args: testActive("--token", "hunter2")}, []string{"unknown flag: --token"}},
	}
	if os.Geteuid() != 0 { // root may read every file
		rows = append(rows, refusal{"a file that may not be read", file(tr.file("secret", "hunter2", 0)), []string{"--token-file: open ", "permission denied"}})
	}
	tr.refuse(t, rows)
}

// TestTokens gives tokens in all the ways there are, and has Coder judge them.
func TestTokens(t *testing.T) {
	t.Parallel()
	const wrong = "wrong-hunter2"
	// file puts the tester's token, or another one, between two texts.
	file := func(tr *trial, before, token, after string, mode os.FileMode) []string {
		return []string{"--token-file", tr.file("tester.token", before+token+after, mode)}
	}
	type row struct {
		why string
		// give gives the token; without it, the tester's is in the environment.
		give func(tr *trial, token string) (args []string)
		well bool
	}
	inParallel(t, []row{
		{"a token that Coder never made", func(tr *trial, _ string) []string { tr.env["CODER_SESSION_TOKEN"] = wrong; return nil }, false},
		{"a token that ended", func(tr *trial, _ string) []string {
			tester, _ := tr.world.UserNamed("tester")
			tr.world.RevokeTokens(tester.ID)
			return nil
		}, false},
		{"a line end behind the token", func(tr *trial, _ string) []string { tr.env["CODER_SESSION_TOKEN"] += "\n"; return nil }, true},
		{"a file with a line end, which wins over the environment", func(tr *trial, token string) []string {
			tr.env["CODER_SESSION_TOKEN"] = wrong
			return file(tr, "", token, "\n", 0o600)
		}, true},
		{"a file with a wrong token wins too", func(tr *trial, _ string) []string { return file(tr, "", wrong, "", 0o600) }, false},
		{"a file that everybody can read, as mounted secrets are, with line ends of Windows", func(tr *trial, token string) []string {
			delete(tr.env, "CODER_SESSION_TOKEN")
			return file(tr, " ", token, "\r\n\r\n", 0o644)
		}, true},
		{"the environment wins over the login", func(tr *trial, _ string) []string {
			tr.env["CODER_CONFIG_DIR"] = tr.login("login", tr.env["CODER_URL"], wrong)
			return nil
		}, true},
		{"the login", func(tr *trial, token string) []string {
			tr.env["CODER_CONFIG_DIR"] = tr.login("login", tr.env["CODER_URL"]+"\n", token+"\n")
			delete(tr.env, "CODER_SESSION_TOKEN")
			delete(tr.env, "CODER_URL")
			return nil
		}, true},
	}, func(r row) string { return r.why }, func(t *testing.T, row row) {
		tr := newTrial(t)
		tr.secrets = append(tr.secrets, "hunter2")
		tr.serve(tr.coder())
		args := testActive(row.give(tr, tr.tokens["tester"])...)
		if row.well {
			tr.run(args...).want(t, 0, "PASSED")
			return
		}
		tr.run(args...).want(t, 3, "coder does not accept the token (HTTP 401: ", "make a new one with \"coder tokens create\" or \"coder login\"")
		tr.storedNothing()
		tr.created(0)
	})
}

// login leaves the files of "coder login" in a folder.
func (tr *trial) login(dir, address, token string) string {
	tr.t.Helper()
	path := filepath.Join(tr.env["HOME"], dir)
	if err := os.MkdirAll(path, 0o700); err != nil {
		tr.t.Fatal(err)
	}
	tr.file(filepath.Join(dir, "url"), address, 0o600)
	tr.file(filepath.Join(dir, "session"), token, 0o600)
	return path
}
