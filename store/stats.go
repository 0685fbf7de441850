package store

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

// Stats are the numbers of vise store stats.
type Stats struct {
	Schema uint32 `json:"schema_version"`
	// LastSeq is the newest journal sequence.
	LastSeq uint64 `json:"last_seq"`
	// Records counts the records by kind: "session", "turn", "rule", ...
	Records map[string]int `json:"records"`
	// Indexes counts index entries of all kinds.
	Indexes int `json:"index_entries"`
	Blobs   int `json:"blobs"`
	// Bytes on disk as file lengths; Badger preallocates, so files may be sparse.
	Bytes int64 `json:"bytes"`
	// OwnerPID is the owning process: ours or the one read through.
	OwnerPID int `json:"owner_pid,omitempty"`
}

// Stats counts what is stored. It walks all keys: about a second per million.
func (s *Store) Stats() (Stats, error) {
	st := Stats{Records: map[string]int{}}
	err := s.View(func(tx *Tx) error {
		var err error
		if st.Schema, _, err = readSchema(tx.snap); err != nil {
			return err
		}
		if st.LastSeq, err = tx.LastSeq(); err != nil {
			return err
		}
		names := map[byte]string{}
		for _, t := range tables {
			names[t.kindByte()] = t.label()
		}
		return tx.snap.scan(scan{keys: true}, func(k, _ []byte) (bool, error) {
			switch k[0] {
			case kindBlob:
				st.Blobs++
			case kindMeta, kindBlobChunk, kindCounts, kindStage, kindRemoving:
			default:
				if name, ok := names[k[0]]; ok {
					st.Records[name]++
				} else {
					st.Indexes++
				}
			}
			return true, nil
		})
	})
	if err != nil {
		return Stats{}, fmt.Errorf("store stats: %w", err)
	}
	if s.o.InMemory {
		return st, nil
	}
	st.OwnerPID = s.ownerPID()
	st.Bytes, err = folderSize(s.o.dbDir())
	if err != nil {
		return Stats{}, fmt.Errorf("store stats: %w", err)
	}
	return st, nil
}

func folderSize(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				n += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a compaction has removed it meanwhile
		}
		return err
	})
	return n, err
}

// Lines is the text form of the numbers, one a line.
func (s Stats) Lines() []string {
	out := []string{
		fmt.Sprintf("schema %d · journal up to %d · %d index entries · %d blobs", s.Schema, s.LastSeq, s.Indexes, s.Blobs),
	}
	if s.Bytes > 0 {
		out = append(out, fmt.Sprintf("%.1f MB on disk as file lengths (sparse), owned by pid %d", float64(s.Bytes)/(1<<20), s.OwnerPID))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Records)) {
		out = append(out, fmt.Sprintf("%8d %s", s.Records[name], name))
	}
	return out
}
