package network

import (
	"context"
	"errors"
	"net"
)

// mostTXT bounds the records that are returned of a name.
const mostTXT = 100

// TXT returns the TXT records of a name, as the resolver of the client has them; none where there is
// no such name. No host of the name is called.
func (c *Client) TXT(ctx context.Context, name string) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Total, errTooSlow)
	defer cancel()
	resolver := c.o.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	texts, err := resolver.LookupTXT(ctx, name+".") // not below a domain of the node's own
	var failed *net.DNSError
	switch {
	case errors.As(err, &failed) && failed.IsNotFound:
		return nil, nil
	case err != nil:
		return nil, refuse(FetchFailed, "%s could not be looked up in the DNS", shown(name)).because(err)
	}
	return texts[:min(len(texts), mostTXT)], nil
}
