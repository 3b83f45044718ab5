// The tests of a consumer that has no SDK. They run once for each line of the standard input, against CONTENT_GATEWAY_URL,
// and print a line: passed, or why one failed.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// call decodes the members of an output that a test reads, and refuses other types. It needs no key where there is none.
func call(test, operation, key, input string, output any) error {
	body := strings.NewReader(`{"json":` + input + `}`)
	request, err := http.NewRequest("POST", os.Getenv("CONTENT_GATEWAY_URL")+"/api/trpc/"+operation, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Test-Name", url.PathEscape(test))
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	var reply struct {
		Result struct {
			Data struct{ JSON json.RawMessage }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		return err
	}
	return json.Unmarshal(reply.Result.Data.JSON, output)
}

func changesTheProfile() error {
	var me struct {
		// Null, or text; nil if it is not there.
		Bio         json.RawMessage
		SocialLinks map[string]string
	}
	input := `{"bio":"A text","socialLinks":{"site":"@me"},"pronouns":null}`
	if err := call("changes the profile", "user.updateProfile", os.Getenv("CONTENT_GATEWAY_API_KEY"), input, &me); err != nil {
		return err
	}
	if me.SocialLinks["site"] != "@me" {
		return errors.New("another profile")
	}
	var bio *string
	return json.Unmarshal(me.Bio, &bio)
}

func showsPosts() error {
	var page struct {
		TotalRelation string
		Items         []struct {
			ID         string
			Title      string
			ImageCount *int
		}
	}
	if err := call("shows posts", "image.list", "", `{"limit":2,"page":1}`, &page); err != nil {
		return err
	}
	if page.TotalRelation != "eq" && page.TotalRelation != "gte" {
		return errors.New("another word")
	}
	// It leaves out sortBy: the newest comes first.
	if len(page.Items) == 0 || page.Items[0].Title != "Two" {
		return errors.New("no posts")
	}
	for _, post := range page.Items {
		if post.ID == "" || post.ImageCount == nil {
			return errors.New("no post")
		}
	}
	return nil
}

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := errors.Join(changesTheProfile(), showsPosts()); err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("passed")
		}
	}
}
