// Package e2e holds scenarios on the real thing: a Temporal server, the worker and starter as programs, a
// Git repository, a site and channels, with faults at named instants and processes that are killed. What
// came of it is counted at the remote.
package e2e
