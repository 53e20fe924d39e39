package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// How often progress is shown: in place on a terminal, else as lines of a log.
const (
	terminalEvery = time.Second
	logEvery      = 5 * time.Second
)

// progress shows on the stream for problems how far the work is, until stop is called.
func (c *command) progress(soFar func() string) (stop func()) {
	every, format := logEvery, "%s\n"
	terminal := isTerminal(c.err)
	if terminal {
		every, format = terminalEvery, "\r%s\x1b[K"
	}
	ticker, done := time.NewTicker(every), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(c.err, format, soFar())
			case <-done:
				if terminal {
					fmt.Fprint(c.err, "\r\x1b[K")
				}
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(done)
		group.Wait()
	}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
