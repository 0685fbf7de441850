package store

import (
	"errors"

	"vise/engine/episode"
)

var episodes = &table[episode.Episode]{
	kind: kindEpisode, name: "episode",
	key: func(e *episode.Episode) []byte { return key(kindEpisode, e.ID) },
	index: func(e *episode.Episode) [][]byte {
		return [][]byte{
			key(kindEpisodeTime, e.CreatedAt, e.ID),
			key(kindEpisodeOf, e.SessionID, e.CreatedAt, e.ID),
		}
	},
}

// PutEpisode stores an episode.
func (tx *Tx) PutEpisode(e episode.Episode) error {
	if err := tx.need("put episode", e.ID, e.SessionID); err != nil {
		return err
	}
	return put(tx, episodes, &e)
}

// Episode returns an episode.
func (tx *Tx) Episode(id string) (episode.Episode, bool, error) {
	return one(tx, episodes, key(kindEpisode, id))
}

// Episodes returns a page of episodes by creation, newest first unless w.Oldest.
func (tx *Tx) Episodes(w Window) ([]episode.Episode, error) {
	return page(tx, episodes, []byte{kindEpisodeTime}, w, key(kindEpisode, w.After))
}

// EpisodesOfSession returns a session's episodes, oldest first.
func (tx *Tx) EpisodesOfSession(session string) ([]episode.Episode, error) {
	return collect(tx, episodes, scan{prefix: key(kindEpisodeOf, session)}, 0)
}

// DeleteFork removes a fork with its transcript, which is at most as long as one repair.
// Other episodes are never removed.
func (tx *Tx) DeleteFork(e episode.Episode) error {
	if e.Fork == nil {
		return tx.fail("delete fork", errors.New("episode "+e.ID+" is none"))
	}
	if _, err := tx.DeleteSteps(e.ID, maxForkSteps); err != nil {
		return err
	}
	return remove(tx, episodes, key(kindEpisode, e.ID))
}

// maxForkSteps bounds the turns of a fork that one transaction removes.
const maxForkSteps = 10_000

var steps = &table[episode.Step]{
	kind: kindStep, name: "step",
	key: func(s *episode.Step) []byte {
		return index(index(key(kindStep, s.EpisodeID), s.Attempt), s.Turn)
	},
}

// PutStep stores a repair step under its episode, attempt and turn.
func (tx *Tx) PutStep(s episode.Step) error {
	if err := tx.need("put step", s.EpisodeID); err != nil {
		return err
	}
	return put(tx, steps, &s)
}

// Steps returns the steps of an episode by attempt and turn.
func (tx *Tx) Steps(episodeID string) ([]episode.Step, error) {
	return records(tx, steps, scan{prefix: key(kindStep, episodeID)}, 0)
}
