// SPDX-License-Identifier: Apache-2.0

// Package local runs a cluster on this machine out of real parts: the Kubernetes
// control plane, Flux's controllers and Git over HTTPS, each as a process of its
// own, on 127.0.0.1 and free ports.
//
// It finds or builds the programs and supervises them; it links none of them.
package local
