package sqlstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// changesChannel is the channel of PostgreSQL on which a commit tells of itself. It says
// nothing but that there is something to see.
const changesChannel = "assay_changes"

// ListenAgainAfter is how long a store waits after the connection broke on which it
// listens for the changes of other servers. Changes are found at intervals meanwhile.
const ListenAgainAfter = time.Second

// startListening wakes those who wait for changes at the commits of all stores on the
// database, until stopListening, which Close calls.
func (s *Store) startListening(config *pgx.ConnConfig) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	s.stopListening = func() {
		cancel()
		<-ended
	}
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			s.listen(ctx, config)
			s.pause(ctx, ListenAgainAfter)
		}
	}()
}

// listen listens until the connection breaks or ctx is done.
func (s *Store) listen(ctx context.Context, config *pgx.ConnConfig) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, `LISTEN `+changesChannel); err != nil {
		return
	}
	for {
		// The first wake is for what was committed before this connection listened.
		s.changed.send()
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return
		}
	}
}

// pause waits on the store's clock.
func (s *Store) pause(ctx context.Context, d time.Duration) {
	over := make(chan struct{})
	timer := s.clock.AfterFunc(d, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
	case <-ctx.Done():
	}
}
