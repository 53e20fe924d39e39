// Package publish makes a version of a template from an archive and makes a version
// active, with what can happen on the way: names that are taken, answers that are lost,
// imports that fail, and other people who promote at the same time.
//
// It decides nothing about tests. Whoever promotes after a test says which version was
// active when it began, and nothing is promoted if that has changed since.
package publish
