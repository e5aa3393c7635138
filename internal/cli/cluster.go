package cli

import (
	"strings"

	"ql/internal/operator"
)

// clusterCommand is ql cluster. Its commands work on the data folder of any node.
type clusterCommand struct {
	settings

	Status clusterStatus `cmd:"" help:"List the nodes that share the database, and whether they live."`
}

func newClusterCommand() clusterCommand {
	return clusterCommand{settings: newSettings("data", "database", "database-direct", "blobs", "master-key-file")}
}

type clusterStatus struct{}

// nodeJSON is a node.
type nodeJSON struct {
	Node    int64    `json:"node"`
	Status  string   `json:"status"`
	Version string   `json:"version"`
	Jobs    int      `json:"jobs"`
	Homes   int      `json:"homes"`   // accounts whose databases are at this node
	Behind  int64    `json:"behind"`  // changes of accounts that it has not seen yet
	Log     int64    `json:"log"`     // bytes of changes of those databases that are not in the bucket yet
	Address string   `json:"address"` // where other nodes reach it
	Duties  []string `json:"duties"`  // what this node does for all
}

// Run implements the command.
func (s *clusterStatus) Run(c *console, line *commands) error {
	settings, err := line.Cluster.load()
	if err != nil {
		return err
	}
	o, err := operator.Open(c.ctx, settings, false)
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }() // it was only read
	nodes, err := o.Nodes(c.ctx)
	if err != nil {
		return err
	}
	list := make([]nodeJSON, 0, len(nodes))
	for _, n := range nodes {
		one := nodeJSON{Node: n.ID, Status: "alive", Version: n.Version, Jobs: n.Jobs, Homes: n.Homes.Accounts, Behind: n.Behind, Log: n.Homes.Unmerged, Address: n.Address, Duties: append([]string{}, n.Duties...)}
		switch {
		case !n.Lives:
			one.Status = "silent"
		case n.Behind > 0:
			one.Status = "behind"
		}
		list = append(list, one)
	}
	if c.json {
		c.print(struct {
			Nodes []nodeJSON `json:"nodes"`
		}{list})
		return nil
	}
	c.table(func(row func(...any)) {
		row("node", "status", "version", "jobs", "homes", "behind", "log", "address", "duties")
		for _, n := range list {
			row(n.Node, n.Status, n.Version, n.Jobs, n.Homes, n.Behind, bytesText(n.Log), n.Address, strings.Join(n.Duties, ", "))
		}
	})
	return nil
}
