package patch

import (
	"fmt"
	"strings"

	"vise/engine/patch/run"
	"vise/store"
)

// Find returns the id of the run that a person names: by its id, by the start of
// it, or by its random part or the start of that, as lists show it. A name of
// several runs is refused with two of them.
func (b *Bench) Find(name string) (string, error) {
	var found []string
	err := b.o.Store.View(func(tx *store.Tx) error {
		if _, ok, err := tx.PatchRun(name); err != nil || ok {
			found = []string{name}
			return err
		}
		all, err := tx.PatchRuns(store.Window{})
		for _, r := range all {
			_, random, _ := strings.Cut(r.ID, "-")
			if name != "" && (strings.HasPrefix(r.ID, name) || strings.HasPrefix(random, name)) {
				found = append(found, r.ID)
			}
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", fmt.Errorf("no patch run %q; vise patch ls lists them", name)
	case len(found) > 1:
		return "", fmt.Errorf("%q names %d patch runs, %s and %s among them; write more of it", name, len(found), found[0], found[1])
	}
	return found[0], nil
}

// Meant returns the run whose patch is meant by the name of a run (see Find): of
// one that was repaired, the repaired patch. by is the run that was named, "" when
// it is the same.
func (b *Bench) Meant(name string) (id, by string, err error) {
	if id, err = b.Find(name); err != nil {
		return "", "", err
	}
	l, found, err := b.Loop(id)
	if err != nil || !found || l.Status != run.Repaired || l.Repaired == "" || l.Repaired == id {
		return id, "", err
	}
	return l.Repaired, id, nil
}
