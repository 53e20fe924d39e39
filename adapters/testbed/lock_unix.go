//go:build unix

package testbed

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

const lockPause = 200 * time.Millisecond

// lock takes the lock that the file stands for, between processes and within
// one, and calls waiting once if somebody else holds it. The kernel releases
// it when the holder dies. The file stays: removing it would let two holders
// lock two files of one name.
func lock(ctx context.Context, file string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, err
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		case <-time.After(lockPause):
		}
	}
}
