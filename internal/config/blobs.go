package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"ql/internal/hostname"
)

// Bucket is where objects are that a server of S3 has.
type Bucket struct {
	Name     string
	Prefix   string // of the names of all objects; "" or with a slash at its end
	Endpoint string // host or host:port
	Plain    bool   // speaks HTTP without TLS
	Region   string
}

// String returns the address, as it is a setting.
func (b *Bucket) String() string {
	scheme := "https"
	if b.Plain {
		scheme = "http"
	}
	query := "region=" + b.Region
	if b.Endpoint != amazon {
		query = "endpoint=" + scheme + "://" + b.Endpoint + "&" + query
	}
	return "s3://" + b.Name + "/" + strings.TrimSuffix(b.Prefix, "/") + "?" + query
}

// amazon is where buckets are unless something says so.
const amazon = "s3.amazonaws.com"

var (
	bucketName   = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	bucketPrefix = regexp.MustCompile(`^[A-Za-z0-9._/-]{0,200}$`)
	regionName   = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
)

// parseBlobs takes the address of a bucket. Keys are not in it: a flag is seen by others.
func parseBlobs(text string) (*Bucket, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Fragment != "" {
		return nil, errors.New("it must be like s3://bucket/prefix?region=eu-central-1, or with endpoint=https://host:port")
	}
	if u.User != nil {
		return nil, errors.New("keys do not belong there: they are in the environment, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or of the machine's role")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("what follows the ? must be like region=eu-central-1&endpoint=https://host:port")
	}
	for name, values := range query {
		if name != "endpoint" && name != "region" || len(values) > 1 {
			return nil, fmt.Errorf("%q cannot be there: endpoint and region can, once each", name)
		}
	}
	b := &Bucket{Name: u.Host, Prefix: strings.Trim(u.Path, "/"), Region: query.Get("region")}
	if !bucketName.MatchString(b.Name) {
		return nil, fmt.Errorf("%q is no name of a bucket: it has 3 to 63 small letters, digits, dots and hyphens", b.Name)
	}
	if !bucketPrefix.MatchString(b.Prefix) || strings.Contains("/"+b.Prefix+"/", "/../") || strings.Contains("/"+b.Prefix+"/", "/./") || strings.Contains(b.Prefix, "//") {
		return nil, fmt.Errorf("%q is no prefix such as team/ql: it has letters, digits, dots, hyphens, underscores and single slashes", b.Prefix)
	}
	if b.Prefix != "" {
		b.Prefix += "/"
	}
	if err := b.setEndpoint(query.Get("endpoint")); err != nil {
		return nil, err
	}
	if !regionName.MatchString(b.Region) {
		return nil, fmt.Errorf("%q is no region such as eu-central-1", b.Region)
	}
	return b, nil
}

// setEndpoint takes where the server is: Amazon's, where nothing says so.
func (b *Bucket) setEndpoint(text string) error {
	if text == "" {
		b.Endpoint = amazon
		if b.Region == "" {
			return errors.New("say in which region it is, by region=eu-central-1, or where the server is, by endpoint=https://host:port")
		}
		return nil
	}
	if b.Region == "" {
		b.Region = "us-east-1" // which servers take that have none
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("the endpoint %q must be like https://host:port", text)
	}
	if _, _, err := hostname.ParseHostPort(u.Host); err != nil {
		return fmt.Errorf("the endpoint %q must be like https://host:port", text)
	}
	b.Endpoint, b.Plain = u.Host, u.Scheme == "http"
	return nil
}
