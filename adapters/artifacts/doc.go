// Package artifacts keeps what was seen of tests as files: a folder for each test, with
// its document and, after a failure, the logs and the states of the agents. What is
// written is masked and bounded, only its owner can read it, and it never leaves the
// folder that was named. What cannot be written changes no verdict and holds nothing back.
package artifacts
