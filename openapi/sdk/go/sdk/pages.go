package {{go.package}}

import (
	"context"
	"errors"
	"iter"
)

// Where the service wants a page and a size of pages, and the caller of ListAll named none.
const (
	firstPage = 1
	pageSize  = 100
)

var errLastPage = errors.New("there is no page after this one")

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

// allOf goes through the records of all pages. A page is asked for when its first record is needed.
func allOf[Item any, Page pageOf[Page, Item]](ctx context.Context, first func() (Page, error)) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		page, err := first()
		for {
			if err != nil {
				var none Item
				yield(none, err)
				return
			}
			for _, item := range page.records() {
				if !yield(item, nil) {
					return
				}
			}
			if !page.HasNextPage() {
				return
			}
			page, err = page.NextPage(ctx)
		}
	}
}
