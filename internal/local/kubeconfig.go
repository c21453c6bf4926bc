// SPDX-License-Identifier: Apache-2.0

package local

import (
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes a kubeconfig for one identity, whole or not at all. Its names
// are those of no other, so that the files of several clusters can be read as one.
func writeKubeconfig(path, server string, ca []byte, id keyPair, cluster, user, namespace string) error {
	context := cluster
	if user = cluster + "-" + user; user != cluster+"-admin" {
		context = user
	}
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	cfg.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: id.cert, ClientKeyData: id.key}
	cfg.Contexts[context] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user, Namespace: namespace}
	cfg.CurrentContext = context
	bytes, err := clientcmd.Write(*cfg)
	if err != nil {
		return err
	}
	return writeFile(path, bytes)
}

// writeFile replaces a private file atomically.
func writeFile(path string, bytes []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when renamed
	if _, err := tmp.Write(bytes); err != nil {
		_ = tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
