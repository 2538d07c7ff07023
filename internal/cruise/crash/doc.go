// Package crash kills phases again and again and compares how they end with one that was left alone: see its heavy
// test.
package crash
