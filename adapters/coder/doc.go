// Package coder is the CodeRunner for a real Coder deployment: HTTP requests whose
// answers are read with the types of codersdk.
//
// Every request goes through one function (request.go), and what became of it is
// put into the domain's words in one place (classify.go). The typed calls of
// codersdk are not used: they hide the answer's headers, which say whether Coder
// spoke at all and what time it has.
package coder
