// SPDX-License-Identifier: Apache-2.0

// Package build renders directories as kustomize and Flux do, and remembers of each
// object and each of its fields where it is written. What most fleets are made of,
// resources and patches of them, is rendered here, in time that grows with its size;
// kustomizations that do more are rendered by kustomize itself.
package build
