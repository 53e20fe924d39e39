package runner

import (
	"errors"
	"strings"
	"sync"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

// Directory says which world answers at which URL. It is safe for concurrent use.
type Directory struct {
	mu     sync.Mutex
	worlds map[string]*world.World
}

// NewDirectory makes an empty Directory: nobody answers anywhere.
func NewDirectory() *Directory { return &Directory{worlds: map[string]*world.World{}} }

// Put has the world answer at the URL from now on; nil has nobody answer there. Runners
// that were dialed before notice.
func (d *Directory) Put(url string, w *world.World) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.worlds[url] = w
}

// Dial is a ports.Dialer. A URL at which nobody answers is no error: each request fails
// as one whose connection is refused.
func (d *Directory) Dial(connection core.Connection) (ports.CodeRunner, error) {
	if !strings.HasPrefix(connection.URL, "http://") && !strings.HasPrefix(connection.URL, "https://") {
		return nil, errors.New("the URL must begin with http:// or https://")
	}
	return withToken(func() *world.World {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.worlds[connection.URL]
	}, connection.Token), nil
}
