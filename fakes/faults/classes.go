package faults

import "github.com/assay-dev/assay/core"

var classes = map[int]core.FailureClass{
	401: core.FailureUnauthorized, 403: core.FailureForbidden, 404: core.FailureNotFound, 406: core.FailureImporting,
	409: core.FailureConflict, 410: core.FailureGone, 429: core.FailureRateLimited,
}

// Answer is how an adapter classifies that Coder refused a call with a status code.
func Answer(call Call, status int) *core.Failure {
	f := &core.Failure{Op: call.Op, Status: status, Message: "refused"}
	class, known := classes[status]
	switch {
	case known:
		f.Class = class
	case status < 500:
		f.Class = core.FailureRejected
	case call.Changes:
		f.Class = core.FailureUncertain
	default:
		f.Class = core.FailureUnavailable
	}
	return f
}
