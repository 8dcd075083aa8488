// Package dial is how backends reach what they drive: which server is trusted, where a connection may go, what is tried
// again, when trying stops, and how credentials are kept fresh and out of every text. It knows no backend's protocol.
package dial
