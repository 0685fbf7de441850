package store

import (
	"fmt"

	"vise/engine/notice"
)

var notices = &table[notice.Notice]{
	kind: kindNotice, name: "notice",
	key: func(n *notice.Notice) []byte { return key(kindNotice, n.ID) },
	index: func(n *notice.Notice) [][]byte {
		keys := [][]byte{key(kindNoticeTime, n.CreatedAt, n.ID)}
		if n.Status == notice.Pending {
			keys = append(keys, key(kindPending, n.SessionID, n.ID))
		}
		return keys
	},
}

// PutNotice stores a notice.
func (tx *Tx) PutNotice(n notice.Notice) error {
	if err := tx.need("put notice", n.ID, n.SessionID); err != nil {
		return err
	}
	return put(tx, notices, &n)
}

// Notice returns a notice.
func (tx *Tx) Notice(id string) (notice.Notice, bool, error) {
	return one(tx, notices, key(kindNotice, id))
}

// PendingNotices returns the pending notices of a session by id.
func (tx *Tx) PendingNotices(session string) ([]notice.Notice, error) {
	return collect(tx, notices, scan{prefix: key(kindPending, session)}, 0)
}

// PendingSessions returns the sessions that have pending notices, sorted.
func (tx *Tx) PendingSessions() ([]string, error) {
	var out []string
	err := walk(tx, notices, scan{prefix: []byte{kindPending}}, func(n *notice.Notice) (bool, error) {
		if len(out) == 0 || out[len(out)-1] != n.SessionID {
			out = append(out, n.SessionID)
		}
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions with pending notices: %w", err)
	}
	return out, nil
}

// Notices returns a page of notices by creation, newest first unless w.Oldest.
func (tx *Tx) Notices(w Window) ([]notice.Notice, error) {
	return page(tx, notices, []byte{kindNoticeTime}, w, key(kindNotice, w.After))
}
