package cli

import (
	"github.com/spf13/cobra"

	"vise/engine/rule/tools"
	"vise/replay/ruleserver"
	"vise/store"
)

func (a *app) mcpCmd() *cobra.Command {
	var url, tokenEnv string
	c := &cobra.Command{
		Use: "mcp", Short: "Serve the four read-only rule tools on stdio (MCP)", Args: cobra.NoArgs,
		Long: "An MCP server on standard input and output with the four read-only tools, for any agent you run yourself.\n" +
			"It reads the project's store, through its owner when a workbench is open. Inside a replay vise starts it as\n" +
			"a bridge to its own rule server (--url, --token-env), so that what an agent read is known per run.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if url != "" {
				token := a.getenv(tokenEnv)
				if tokenEnv == "" || token == "" {
					return usagef("mcp --url needs --token-env with the name of a variable that holds the run's token")
				}
				return ruleserver.Bridge(ctx, url, token, a.in, a.out)
			}
			cfg, _, err := a.load()
			if err != nil {
				return err
			}
			// A server that an agent keeps running must not keep the store.
			s, err := store.OpenView(ctx, a.storeOptions(cfg, nil))
			if err != nil {
				return err
			}
			defer s.Close()
			set := tools.New(s, rulesView(cfg))
			return ruleserver.ServeStdio(ctx, set, a.in, a.out)
		},
	}
	c.Flags().StringVar(&url, "url", "", "bridge to this rule server instead of reading a store")
	c.Flags().StringVar(&tokenEnv, "token-env", "", "name of the variable that holds the run's token")
	return c
}
