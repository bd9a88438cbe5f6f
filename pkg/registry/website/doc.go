// Package website contains the strategy of Websites: how they are created, updated,
// selected and printed. Package storage applies it.
package website
