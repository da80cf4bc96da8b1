// Package workflows decides when the steps of a publication happen: deterministic orchestration and
// nothing else. Publish runs one intent, Deliver announces it on one channel, and settle is the one loop
// in which every step, fresh or resumed, is brought to an outcome.
package workflows
