// Links checks the links of a static site:
//
//	go run ./internal/cmd/links build/site
//
// Each relative link of each page must lead to a file of the site, and its fragment to an element
// of that page. Links to other hosts are not followed. The exit status is 1 if one is broken.
package main

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"

	"golang.org/x/net/html"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: links DIRECTORY")
		os.Exit(2)
	}
	pages, broken, err := check(os.DirFS(os.Args[1]))
	for _, b := range broken {
		fmt.Fprintln(os.Stderr, b)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "links:", err)
	}
	if err != nil || len(broken) > 0 {
		os.Exit(1)
	}
	fmt.Printf("%d pages, no broken link\n", pages)
}

// A page is an HTML file's links and the elements that links can lead to.
type page struct {
	links []string
	ids   map[string]bool
}

// check reports the broken links of a site, and how many pages it has. A site without pages is an
// error.
func check(site fs.FS) (n int, broken []string, err error) {
	pages := map[string]page{}
	err = fs.WalkDir(site, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".html" {
			return err
		}
		pages[name], err = parse(site, name)
		return err
	})
	if err == nil && len(pages) == 0 {
		err = fmt.Errorf("no pages: %w", fs.ErrNotExist)
	}
	for name, p := range pages {
		for _, link := range p.links {
			if reason := follow(site, pages, name, link); reason != "" {
				broken = append(broken, fmt.Sprintf("%s: %s: %s", name, link, reason))
			}
		}
	}
	return len(pages), broken, err
}

func parse(site fs.FS, name string) (p page, err error) {
	f, err := site.Open(name)
	if err != nil {
		return p, err
	}
	defer f.Close()
	root, err := html.Parse(f)
	if err != nil {
		return p, fmt.Errorf("%s: %w", name, err)
	}
	p.ids = map[string]bool{}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			switch a.Key {
			case "href", "src":
				p.links = append(p.links, a.Val)
			case "id":
				p.ids[a.Val] = true
			}
		}
	}
	return p, nil
}

// follow reports why a link on a page is broken; "": it is not, or it leads to another host.
func follow(site fs.FS, pages map[string]page, from, link string) (reason string) {
	u, err := url.Parse(link)
	if err != nil {
		return err.Error()
	}
	if u.Host != "" || u.Scheme != "" {
		return ""
	}
	to := from
	if u.Path != "" {
		to = path.Join("/", path.Dir(from), u.Path)[1:]
		if path.IsAbs(u.Path) {
			to = path.Clean(u.Path)[1:]
		}
		if to == "" {
			to = "."
		}
		info, err := fs.Stat(site, to)
		if err != nil {
			return "no such file"
		}
		if info.IsDir() {
			to = path.Join(to, "index.html")
		}
	}
	p, isPage := pages[to]
	switch {
	case !isPage && path.Ext(to) == ".html":
		return "no such page"
	case u.Fragment != "" && !p.ids[u.Fragment]:
		return "no such element"
	}
	return ""
}
