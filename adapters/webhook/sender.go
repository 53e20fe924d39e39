package webhook

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

const (
	// lookInterval is how often the outbox is looked at.
	lookInterval = 2 * time.Second
	// batch is how many messages are sent at once.
	batch = 16
	// claimTime is how long other servers leave a message to this one: longer than a
	// delivery takes.
	claimTime = 6 * patience
	// firstPause is the pause after the first attempt in vain; it doubles up to
	// longestPause.
	firstPause   = 10 * time.Second
	longestPause = time.Hour
	// GiveUpAfter is how old a message gets that nobody takes.
	GiveUpAfter = 3 * 24 * time.Hour
	// maxAnswer is how much of an answer is read, in bytes: so much lets the connection be
	// used again.
	maxAnswer = 4 << 10
)

// Sender delivers messages of an outbox.
type Sender struct {
	outbox    ports.Outbox
	clock     ports.Clock
	random    io.Reader
	log       *slog.Logger
	receivers map[string]*Receiver
	clients   map[bool]*http.Client
}

// NewSender makes a Sender. It sends nothing before Run.
func NewSender(outbox ports.Outbox, receivers []Receiver, clock ports.Clock, random io.Reader, logger *slog.Logger) *Sender {
	s := &Sender{
		outbox: outbox, clock: clock, random: random, log: logger, receivers: map[string]*Receiver{},
		clients: map[bool]*http.Client{false: newClient(false), true: newClient(true)},
	}
	for i := range receivers {
		s.receivers[receivers[i].Name] = &receivers[i]
	}
	return s
}

// Run delivers what is due until ctx is done.
func (s *Sender) Run(ctx context.Context) {
	for {
		more := s.deliver(ctx)
		if ctx.Err() != nil {
			return
		}
		if more {
			continue
		}
		due := make(chan struct{})
		timer := s.clock.AfterFunc(lookInterval, func() { close(due) })
		select {
		case <-due:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// deliver sends a batch, and reports whether there may be more.
func (s *Sender) deliver(ctx context.Context) (more bool) {
	claimed, err := s.outbox.ClaimNotices(ctx, s.clock.Now().Add(claimTime), batch)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("messages for receivers could not be read; it is tried again", "error", err)
		}
		return false
	}
	var sending sync.WaitGroup
	for _, notice := range claimed {
		sending.Go(func() { s.one(ctx, notice) })
	}
	sending.Wait()
	return len(claimed) == batch
}

func (s *Sender) one(ctx context.Context, notice core.Notice) {
	err := s.send(ctx, notice)
	// What became of it is stored also while the server ends.
	storing := context.WithoutCancel(ctx)
	switch {
	case err == nil:
		err = s.outbox.NoticeDelivered(storing, notice.ID)
	case ctx.Err() != nil:
		return // it is sent again after the claim
	default:
		next := s.next(notice)
		s.log.Warn("a receiver did not take a message", "receiver", notice.Receiver, "message", notice.ID, "attempts", notice.Attempts+1,
			"error", err, "givenUp", next.IsZero())
		err = s.outbox.NoticeFailed(storing, notice.ID, err.Error(), next)
	}
	if err != nil {
		s.log.Warn("what became of a message could not be stored; it is sent again", "message", notice.ID, "error", err)
	}
}

// errUnknown: the receiver is configured no more.
var errUnknown = errors.New("the receiver is not configured any more")

func (s *Sender) send(ctx context.Context, notice core.Notice) error {
	receiver := s.receivers[notice.Receiver]
	if receiver == nil {
		return errUnknown
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, receiver.URL, bytes.NewReader(notice.Body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "assay-server")
	request.Header.Set("Assay-Event", notice.Event)
	request.Header.Set("Assay-Delivery", notice.ID.String())
	request.Header.Set(SignatureHeader, Sign(receiver.secret, notice.Body, s.clock.Now()))
	response, err := s.clients[receiver.AllowPrivate].Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("it answered %d; redirects are not followed", response.StatusCode)
	}
	return nil
}

// withoutURL is the cause of an error, without the URL, whose path can be a secret.
func withoutURL(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// next is when a message is due again; zero gives it up.
func (s *Sender) next(notice core.Notice) time.Time {
	now := s.clock.Now()
	if s.receivers[notice.Receiver] == nil || now.Sub(notice.CreatedAt) >= GiveUpAfter {
		return time.Time{}
	}
	pause := firstPause
	for range notice.Attempts {
		if pause *= 2; pause >= longestPause {
			pause = longestPause
			break
		}
	}
	// Receivers that fail together are not to be asked together.
	var bits [8]byte
	if _, err := io.ReadFull(s.random, bits[:]); err == nil {
		fifth := pause / 5
		pause += time.Duration(binary.LittleEndian.Uint64(bits[:])%uint64(2*fifth)) - fifth //nolint:gosec // less than an hour
	}
	return now.Add(pause)
}
