package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"vise/engine/config"
)

func (a *app) initCmd() *cobra.Command {
	var command []string
	var driver string
	var force, container bool
	c := &cobra.Command{
		Use: "init [flags] [-- AGENT ARG...]", Short: "Write a commented vise.toml",
		Example: "vise init --agent opencode\nvise init -- my-agent acp\nvise init --driver exec -- python3 agent.py",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return usagef("init: %q: the command of your agent comes behind --, as in: vise init -- my-agent acp", args[0])
			}
			if len(args) > 0 && len(command) > 0 {
				return usagef("init: the agent is given twice: by --agent and behind --")
			}
			named := len(command) > 0
			command = append(command, args...)
			if container {
				if len(command) > 0 || force {
					return usagef("init: --container only prints a file and excludes an agent and --force")
				}
				if a.json {
					return a.out.object("vise.container/1", map[string]string{"containerfile": containerfile})
				}
				a.out.printf("%s", block(strings.TrimSuffix(containerfile, "\n")))
				return a.out.err
			}
			dir := a.dir
			if a.project != "" {
				dir = a.path(a.project)
			}
			file := filepath.Join(dir, "vise.toml")
			if driver != "" && driver != "acp" && driver != "exec" {
				return usagef("init: --driver %s: give acp or exec", driver)
			}
			if named { // words behind -- are a command as it stands
				_, preset := presets[command[0]]
				switch preset = preset || command[0] == "custom"; {
				case preset && len(command) > 1:
					return usagef("init: %s is a preset and takes no further words; a command of your own comes behind --", command[0])
				case preset && driver == "exec":
					return usagef("init: %s is a preset for the Agent Client Protocol; a command for --driver exec comes behind --", command[0])
				}
			}
			if err := writeProject(file, projectOptions(command, driver, a.getenv("HOME")), force); err != nil {
				return err
			}
			if a.json {
				return a.out.object("vise.file/1", map[string]string{"path": file})
			}
			a.out.printf("wrote %s", file)
			a.out.printf("next: vise import PATH... brings recorded sessions in; vise doctor checks the surroundings")
			return nil
		},
	}
	c.Flags().StringArrayVar(&command, "agent", nil, "one of "+strings.Join(presetNames(), ", ")+", custom; your own command comes behind --")
	c.Flags().StringVar(&driver, "driver", "", "acp (the default), or exec for a command that speaks no protocol")
	c.Flags().BoolVar(&force, "force", false, "overwrite an existing vise.toml")
	c.Flags().BoolVar(&container, "container", false, "print a Containerfile for vise and its agent, and write nothing")
	return c
}

// containerfile is what init --container prints.
//
//go:embed Containerfile
var containerfile string

func writeProject(file string, o config.ProjectOptions, force bool) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("init: %w", err)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		if at, err := os.Lstat(file); err == nil && !at.Mode().IsRegular() {
			return fmt.Errorf("init: %s is no regular file; move it away first", file)
		}
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(file, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("init: %s exists already; --force overwrites it", file)
	}
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	_, werr := f.Write(config.Template(o))
	return errors.Join(werr, f.Close())
}
