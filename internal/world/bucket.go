// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/xml"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// isBucket tells whether a request speaks S3.
func isBucket(r *http.Request) bool {
	q := r.URL.Query()
	return q.Has("location") || q.Has("list-type") || r.Header.Get("X-Amz-Content-Sha256") != "" || strings.HasPrefix(r.Header.Get("Authorization"), "AWS")
}

const s3Namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

type s3Location struct {
	XMLName xml.Name `xml:"LocationConstraint"`
	NS      string   `xml:"xmlns,attr"`
	Region  string   `xml:",chardata"`
}

type s3List struct {
	XMLName     xml.Name   `xml:"ListBucketResult"`
	NS          string     `xml:"xmlns,attr"`
	Prefix      string     `xml:"Prefix"`
	KeyCount    int        `xml:"KeyCount"`
	MaxKeys     int        `xml:"MaxKeys"`
	IsTruncated bool       `xml:"IsTruncated"`
	Contents    []s3Object `xml:"Contents"`
}

type s3Object struct {
	Key          string `xml:"Key"`
	LastModified string `xml:"LastModified"`
	ETag         string `xml:"ETag"`
	Size         int64  `xml:"Size"`
	StorageClass string `xml:"StorageClass"`
}

// serveBucket answers what Flux asks of S3: whether a bucket is there, what is in it, and
// an object. Who asks is not checked.
func serveBucket(out http.ResponseWriter, r *http.Request, dir, rest string) {
	q := r.URL.Query()
	switch {
	case rest != "":
		serveFile(out, r, dir, rest)
	case q.Has("location"):
		writeXML(out, s3Location{NS: s3Namespace, Region: "us-east-1"})
	case r.Method == http.MethodHead:
		out.WriteHeader(http.StatusOK)
	default:
		list, err := listBucket(dir, q.Get("prefix"))
		if err != nil {
			http.Error(out, err.Error(), http.StatusInternalServerError)
			return
		}
		writeXML(out, list)
	}
}

func listBucket(dir, prefix string) (s3List, error) {
	list := s3List{NS: s3Namespace, Prefix: prefix}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == ".git" {
			return filepath.SkipDir
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		key, err := filepath.Rel(dir, path)
		if err != nil || !strings.HasPrefix(filepath.ToSlash(key), prefix) {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		list.Contents = append(list.Contents, s3Object{
			Key: filepath.ToSlash(key), LastModified: info.ModTime().UTC().Format(time.RFC3339), ETag: etag(content), Size: info.Size(), StorageClass: "STANDARD",
		})
		return nil
	})
	list.KeyCount, list.MaxKeys = len(list.Contents), max(1000, len(list.Contents))
	return list, err
}

func writeXML(out http.ResponseWriter, v any) {
	out.Header().Set("Content-Type", "application/xml")
	content, err := xml.Marshal(v)
	if err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = out.Write(append([]byte(xml.Header), content...)) // the client may be gone
}
