//go:build !unix

package testbed

import (
	"context"
	"errors"
)

func lock(context.Context, string, func()) (func(), error) {
	return nil, errors.New("the test bed needs a Unix system")
}
