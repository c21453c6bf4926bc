// SPDX-License-Identifier: Apache-2.0

// Package scripts runs the program as people do, in a directory of its own, and
// compares what it says and what it writes. Each story is a file in testdata; -update
// writes what changed into it.
package scripts

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenantry/tenantry/internal/cli"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tenantry": func() {
			os.Exit(cli.Run(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
		},
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: *update, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("EXAMPLES", examples)
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "nowhere"))
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				env.Setenv("GIT_"+who+"_NAME", "Ada")
				env.Setenv("GIT_"+who+"_EMAIL", "ada@example.com")
			}
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"tree": tree, "snapshot": snapshot, "unchanged": unchanged,
		},
	})
}

// tree writes the names of the files below a directory to a file.
func tree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tree DIR FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(filesBelow(ts, args[0]), "\n")+"\n"), 0o600))
}

func filesBelow(ts *testscript.TestScript, dir string) []string {
	var all []string
	root := ts.MkAbs(dir)
	ts.Check(filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() && e.Name() == ".git" {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if e.IsDir() {
			return nil
		}
		name, err := filepath.Rel(root, path)
		all = append(all, filepath.ToSlash(name))
		return err
	}))
	return all
}

// snapshot keeps a copy of a directory, for unchanged to compare with.
func snapshot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: snapshot DIR")
	}
	from, to := ts.MkAbs(args[0]), kept(ts)
	ts.Check(os.RemoveAll(to))
	ts.Check(os.CopyFS(to, os.DirFS(from)))
}

func kept(ts *testscript.TestScript) string { return filepath.Join(ts.Getenv("WORK"), ".snapshot") }

// unchanged fails when anything in the directory is other than in the snapshot.
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: unchanged DIR")
	}
	out, err := exec.Command("diff", "-r", kept(ts), ts.MkAbs(args[0])).CombinedOutput()
	if err != nil {
		ts.Fatalf("%s", out)
	}
}
