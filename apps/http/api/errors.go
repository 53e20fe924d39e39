package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/assay-dev/assay/apps/http/service"
)

// withoutValues takes what was given out of problem documents: it can be the value of a
// parameter.
func withoutValues(_ huma.Context, _ string, body any) (any, error) {
	if problem, ok := body.(*huma.ErrorModel); ok {
		for _, detail := range problem.Errors {
			detail.Value = nil
		}
	}
	return body, nil
}

var statusOf = map[service.Kind]int{
	service.Invalid: http.StatusUnprocessableEntity, service.NotFound: http.StatusNotFound, service.Forbidden: http.StatusForbidden,
	service.Conflict: http.StatusConflict, service.Unavailable: http.StatusServiceUnavailable,
}

// said is an error of the service as a problem document. in is the part of the request
// that its fields are of. What the caller is not to know is logged.
func (h *handlers) said(ctx context.Context, in string, err error) error {
	if err == nil {
		return nil
	}
	var known *service.Error
	if !errors.As(err, &known) {
		if ctx.Err() != nil {
			return huma.NewError(http.StatusServiceUnavailable, "the request was ended before it was done")
		}
		h.Config.Logger.Error("a request failed", "error", err)
		return huma.NewError(http.StatusInternalServerError, "the server could not do this; its log says why. Nothing is known to have changed: look before you repeat it, or repeat it with its Idempotency-Key")
	}
	details := make([]error, 0, len(known.Fields))
	for _, field := range known.Fields {
		details = append(details, &huma.ErrorDetail{Location: in + field.Name, Message: field.Rule})
	}
	return huma.NewError(statusOf[known.Kind], known.Message, details...)
}
