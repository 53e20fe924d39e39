// Package tester makes users who may own test workspaces, and tells why one may not.
package tester
