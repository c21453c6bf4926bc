// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"filippo.io/age"
	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/ssh"

	"github.com/tenantry/tenantry/internal/world"
)

// Keys open what is encrypted in Git.
type Keys struct {
	// Age are identities, and PGP armored private keys.
	Age, PGP   []string
	recipients []string
}

// Add takes up the content of a key file.
func (k *Keys) Add(content []byte) error {
	text := string(content)
	if strings.Contains(text, "BEGIN PGP PRIVATE KEY") {
		k.PGP = append(k.PGP, text)
		return nil
	}
	ids, err := age.ParseIdentities(bytes.NewReader(content))
	if err != nil {
		// Neither what it holds nor where it went wrong is told: it may be a key.
		return fmt.Errorf("it holds neither an age identity (AGE-SECRET-KEY-...) nor a PGP private key")
	}
	for _, id := range ids {
		if x, ok := id.(*age.X25519Identity); ok {
			k.recipients = append(k.recipients, x.Recipient().String())
		}
	}
	k.Age = append(k.Age, text)
	return nil
}

// data is a Secret's content by which kustomize-controller decrypts. Without a key it is
// one that opens nothing: the Secret has to be there.
func (k *Keys) data() (map[string]string, error) {
	data := map[string]string{}
	if len(k.Age) == 0 && len(k.PGP) == 0 {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			return nil, err
		}
		data["identity.agekey"] = id.String()
	}
	for i, a := range k.Age {
		data[fmt.Sprintf("%d.agekey", i)] = a
	}
	for i, p := range k.PGP {
		data[fmt.Sprintf("%d.asc", i)] = p
	}
	return data, nil
}

// opens tells whether one of the keys is among those that a file is encrypted to.
func (k *Keys) opens(content []byte) bool {
	for _, r := range k.recipients {
		if bytes.Contains(content, []byte(r)) {
			return true
		}
	}
	return len(k.PGP) > 0 && bytes.Contains(content, []byte("BEGIN PGP MESSAGE"))
}

// stubber puts stand-ins into what is encrypted and has no key here.
type stubber struct {
	keys *Keys
	mu   sync.Mutex
	// stubbed are the files, by URL and path.
	stubbed []string
}

// stub stands in for a value that nobody can read here.
const stub = "stands-in-for-a-secret"

var encrypted = regexp.MustCompile(`ENC\[[A-Z0-9_]+,data:[^\]]*\]`)

// filter is for the world: encrypted files without a key are served as if they had been
// written in plain text, with stand-ins for what was encrypted.
func (s *stubber) filter(m world.Mapping, name string, content []byte) []byte {
	if !bytes.Contains(content, []byte("sops")) || !encrypted.Match(content) || s.keys.opens(content) {
		return nil
	}
	var out []byte
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		out = stubDocuments(content)
	case ".env":
		out = stubLines(content)
	}
	if out == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if where := m.URL + " " + name; !slices.Contains(s.stubbed, where) {
		s.stubbed = append(s.stubbed, where)
	}
	return out
}

// files are those that were stubbed.
func (s *stubber) files() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.stubbed)
}

func stubDocuments(content []byte) []byte {
	var out bytes.Buffer
	in, to := yaml.NewDecoder(bytes.NewReader(content)), yaml.NewEncoder(&out)
	to.SetIndent(2)
	for {
		doc := &yaml.Node{}
		if err := in.Decode(doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil // Flux says what is wrong with it
		}
		if len(doc.Content) > 0 {
			stubNode(doc.Content[0], false)
		}
		if err := to.Encode(doc); err != nil {
			return nil
		}
	}
	if err := to.Close(); err != nil {
		return nil
	}
	return out.Bytes()
}

// stubNode takes out SOPS's own part and what it encrypted; base64 says that what stands
// in has to be so, as in a Secret's data.
func stubNode(n *yaml.Node, encoded bool) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "sops" && n.Content[i+1].Kind == yaml.MappingNode {
				n.Content = slices.Delete(n.Content, i, i+2)
				i -= 2
				continue
			}
			stubNode(n.Content[i+1], encoded || n.Content[i].Value == "data")
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			stubNode(c, encoded)
		}
	case yaml.ScalarNode:
		if !encrypted.MatchString(n.Value) {
			return
		}
		switch {
		case strings.Contains(n.Value, ",type:int]"), strings.Contains(n.Value, ",type:float]"):
			n.SetString("0")
			n.Tag, n.Style = "!!int", 0
		case strings.Contains(n.Value, ",type:bool]"):
			n.SetString("false")
			n.Tag, n.Style = "!!bool", 0
		case encoded:
			n.SetString(base64.StdEncoding.EncodeToString([]byte(stub)))
		default:
			n.SetString(stub)
		}
	}
}

// stubLines does the same for a file of NAME=value.
func stubLines(content []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(content) {
		if bytes.HasPrefix(line, []byte("sops_")) {
			continue
		}
		out.Write(encrypted.ReplaceAll(line, []byte(stub)))
	}
	return out.Bytes()
}

// credentials are a Secret's content that a source of a kind takes. The world lets
// everybody in; the Secret has to be there and look right.
func credentials(kind, url string, knownHosts string) (secretType string, data map[string]string, err error) {
	switch {
	case strings.HasPrefix(url, "ssh://"):
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return "", nil, err
		}
		block, err := ssh.MarshalPrivateKey(key, "")
		if err != nil {
			return "", nil, err
		}
		return "Opaque", map[string]string{"identity": string(pem.EncodeToMemory(block)), "known_hosts": knownHosts}, nil
	case kind == "Bucket":
		return "Opaque", map[string]string{"accesskey": stub, "secretkey": stub}, nil
	case strings.HasPrefix(url, "oci://"):
		host, _, _ := strings.Cut(strings.TrimPrefix(url, "oci://"), "/")
		content, err := json.Marshal(map[string]any{"auths": map[string]any{host: map[string]string{"username": stub, "password": stub}}})
		return "kubernetes.io/dockerconfigjson", map[string]string{".dockerconfigjson": string(content)}, err
	default:
		return "Opaque", map[string]string{"username": stub, "password": stub}, nil
	}
}
