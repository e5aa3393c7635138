// Package deploy is the files by which ql is run on machines of others: an image, a cluster on one
// machine, Kubernetes, systemd. Its tests read each by the program's own reader, and hold the settings
// in it to those that there are.
package deploy
