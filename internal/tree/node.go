// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// ListIn is a list of an object, made with the mappings that lead to it when create is
// given, else nil where it is not there. What is there and empty counts as not there;
// what is something else is a mistake with a place.
func ListIn(object *yaml.Node, create bool, names ...string) (*yaml.Node, error) {
	n := object
	for i, name := range names {
		kind, want := yaml.MappingNode, "a mapping"
		if i == len(names)-1 {
			kind, want = yaml.SequenceNode, "a list"
		}
		child := Field(n, name)
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
		case Empty(child) && !create:
			return nil, nil
		case Empty(child):
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

// Empty tells whether a value is none: null, or a mapping or list without anything in it.
func Empty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == yaml.NodeTagNull || (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && len(n.Content) == 0
}

// Without takes a field out of an object, and the mappings above it that it leaves
// empty, but for spec.
func Without(object *yaml.Node, names ...string) {
	parent := Field(object, names[:len(names)-1]...)
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
		Without(object, names[:len(names)-1]...)
	default:
		parent.Style = yaml.FlowStyle
	}
}
