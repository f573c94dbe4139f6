// Takes orders for a user as long as the rules let it, and then writes a report, of which only so many may be
// under way at a time. It needs a daemon with the rules beside it:
//
//	sidecard serve --rules examples/local/rules
//	go run ./examples/local/go bob
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/sidecard/sidecard/pkg/client"
)

func main() {
	user := "bob"
	if len(os.Args) > 1 {
		user = os.Args[1]
	}
	c, err := client.New(client.Options{Addr: os.Getenv("SIDECARD_HTTP")}) // empty: where the daemon is by default
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	for range 4 {
		d, err := c.Decide(ctx, client.Request{
			Resource:   "orders",
			Attributes: map[string]string{"path": "/orders", "header.x-user-id": user},
		})
		switch {
		case err != nil:
			log.Fatal(err) // nobody decides; another program may prefer to go on
		case d.Allowed:
			fmt.Printf("order: allowed, %d left\n", d.Remaining)
		default:
			fmt.Printf("order: refused by %s (%s)\n", d.Rule, d.Reason)
		}
	}

	// Do acquires, waits if the rules want that, and completes with the time and the error of the function.
	err = c.Do(ctx, "reports", nil, func() error {
		fmt.Println("report: written")
		return nil
	})
	var refusal *client.Refusal
	if errors.As(err, &refusal) {
		fmt.Println("report: come again later:", refusal)
	} else if err != nil {
		log.Fatal(err)
	}
}
