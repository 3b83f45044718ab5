// Command pack writes a module as a proxy serves it: pack <folder> <module> <version> <proxy>.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 5 {
		log.Fatal("pack <folder> <module> <version> <proxy>")
	}
	if err := pack(os.Args[1], module.Version{Path: os.Args[2], Version: os.Args[3]}, os.Args[4]); err != nil {
		log.Fatal(err)
	}
}

// pack writes the four files of a version, and a list that names this version alone.
func pack(folder string, version module.Version, proxy string) error {
	if err := module.Check(version.Path, version.Version); err != nil {
		return err
	}
	path, err := module.EscapePath(version.Path)
	if err != nil {
		return err
	}
	target := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"list":                    []byte(version.Version + "\n"),
		version.Version + ".info": fmt.Appendf(nil, "{\"Version\":%q}\n", version.Version),
		version.Version + ".mod":  mod,
	} {
		if err := os.WriteFile(filepath.Join(target, name), text, 0o644); err != nil {
			return err
		}
	}
	archive, err := os.Create(filepath.Join(target, version.Version+".zip"))
	if err != nil {
		return err
	}
	if err := zip.CreateFromDir(archive, version, folder); err != nil {
		return err
	}
	return archive.Close()
}
