// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// listIn is a list of an object, made with the mappings that lead to it when create is
// given, else nil where it is not there. What is there and empty counts as not there;
// what is something else is a mistake with a place.
func listIn(object *yaml.Node, create bool, names ...string) (*yaml.Node, error) {
	n := object
	for i, name := range names {
		kind, want := yaml.MappingNode, "a mapping"
		if i == len(names)-1 {
			kind, want = yaml.SequenceNode, "a list"
		}
		child := field(n, name)
		switch {
		case child == nil && !create:
			return nil, nil
		case child == nil:
			child = &yaml.Node{Kind: kind}
			n.Content = append(n.Content, yaml.NewStringRNode(name).YNode(), child)
			if len(n.Content) == 2 { // it was {}, and stood in one line
				n.Style = 0
			}
		case child.Kind == kind:
		case empty(child) && !create:
			return nil, nil
		case empty(child):
			*child = yaml.Node{Kind: kind, HeadComment: child.HeadComment, LineComment: child.LineComment, FootComment: child.FootComment}
		case child.Kind == yaml.AliasNode:
			return nil, &Error{Line: child.Line, What: fmt.Sprintf("%s is an alias of another place: change it by hand", strings.Join(names[:i+1], "."))}
		default:
			return nil, &Error{Line: child.Line, What: fmt.Sprintf("%s: want %s", strings.Join(names[:i+1], "."), want)}
		}
		n = child
	}
	return n, nil
}

// empty tells whether a value is none: null, or a mapping or list without anything in it.
func empty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == yaml.NodeTagNull || (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && len(n.Content) == 0
}

// without takes a field out of an object, and the mappings above it that it leaves
// empty, but for spec.
func without(object *yaml.Node, names ...string) {
	parent := field(object, names[:len(names)-1]...)
	if parent == nil {
		return
	}
	last := names[len(names)-1]
	for i := 0; i+1 < len(parent.Content); i += 2 {
		if parent.Content[i].Value == last {
			parent.Content = append(parent.Content[:i], parent.Content[i+2:]...)
			break
		}
	}
	switch {
	case len(parent.Content) > 0:
	case len(names) > 2:
		without(object, names[:len(names)-1]...)
	default:
		parent.Style = yaml.FlowStyle
	}
}
