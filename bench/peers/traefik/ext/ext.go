// Package ext stands in for a module that Traefik's go.mod replaces by a folder which its published module
// does not have. Traefik embeds these two types to let other builds add fields; here they add none.
package ext

// HTTP adds nothing to the HTTP configuration.
//
// +k8s:deepcopy-gen=true
type HTTP struct{}

// DeepCopyInto copies nothing.
func (in *HTTP) DeepCopyInto(out *HTTP) { *out = *in }

// Router adds nothing to a router.
//
// +k8s:deepcopy-gen=true
type Router struct{}

// DeepCopyInto copies nothing.
func (in *Router) DeepCopyInto(out *Router) { *out = *in }
