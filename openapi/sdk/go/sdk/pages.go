package {{go.package}}

import (
	"context"
	"iter"
)

// What is sent where the caller names neither a page nor a size of pages.
const (
	firstPage = 1
	// listSize is the size of the page that a list returns.
	listSize = 20
	// pageSize is that of the pages of a walk.
	pageSize = 100
)

var errLastPage = usage("there is no page after this one")

// pageOf is what the pages of all lists can do.
type pageOf[Page, Item any] interface {
	HasNextPage() bool
	NextPage(ctx context.Context) (Page, error)
	records() []Item
}

// nextPage calls what a page knows of the next one, if it does.
func nextPage[Page any](ctx context.Context, next func(context.Context) (*Page, error)) (*Page, error) {
	if next == nil {
		return nil, errLastPage
	}
	return next(ctx)
}

// pagesFrom goes through the pages from the first one on. A page is asked for when it is needed.
func pagesFrom[Page pageOf[Page, Item], Item any](ctx context.Context, first func() (Page, error)) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		page, err := first()
		for yield(page, err) && err == nil && page.HasNextPage() {
			page, err = page.NextPage(ctx)
		}
	}
}

// recordsOf goes through the records of pages: all, or as many as the options say.
func recordsOf[Page pageOf[Page, Item], Item any](
	c *connection, options []CallOption, pages iter.Seq2[Page, error],
) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		// An option that makes no sense is the error of the first page.
		settings, _ := c.begin(context.Background(), options)
		left := settings.maxRecords
		for page, err := range pages {
			if err != nil {
				var none Item
				yield(none, err)
				return
			}
			for _, item := range page.records() {
				left--
				if !yield(item, nil) || left == 0 {
					return
				}
			}
		}
	}
}
