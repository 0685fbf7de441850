package replay

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"vise/replay/driver"
)

// Greet starts the agent, lets it open a session and ends it: what a doctor
// does. No prompt is sent, so no model is asked; a command that knows no protocol is
// looked for and not run. It works where a run would, since a command may be a file of
// the project.
func Greet(ctx context.Context, agent Agent, environ []string, scratch string) (driver.Info, error) {
	dir, cleanup, err := driver.PrepareWorkspace(ctx, driver.WorkspaceMode(agent.Workspace), agent.WorkspaceFrom, filepath.Join(scratch, "greet"))
	if err != nil {
		return driver.Info{}, fmt.Errorf("greet agent: %w", err)
	}
	defer os.Remove(filepath.Join(scratch, "greet"))
	defer cleanup()
	around, err := agent.surround(environ, filepath.Join(scratch, "greet"), dir, nil, nil)
	defer around.remove()
	if err != nil {
		return driver.Info{}, fmt.Errorf("greet agent: %w", err)
	}
	session, err := agent.start(ctx, driver.Config{
		Command: agent.Command, Dir: dir, Env: driver.Environ(agent.Env, around.env, environ), Sandbox: around.box, Mode: agent.Mode, Options: agent.Options,
		StartTimeout: agent.StartTimeout, Log: io.Discard, SessionID: "greet",
	})
	if err != nil {
		return driver.Info{}, fmt.Errorf("greet agent: %w", around.hint(err))
	}
	info := agent.told(session.Info())
	session.Close(context.WithoutCancel(ctx))
	return info, nil
}
