package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/sidecard/sidecard/pkg/client"
)

func ExampleClient_Do() {
	daemon, err := startWorld(rulesOfTests) // where there is one, its address is all that is needed
	if err != nil {
		log.Fatal(err)
	}
	defer daemon.stop()

	c, err := client.New(client.Options{Addr: daemon.addr})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	for range 2 {
		err = c.Do(ctx, "orders", map[string]string{"header.x-user-id": "bob"}, func() error {
			fmt.Println("working")
			return nil
		})
		var refusal *client.Refusal
		switch {
		case errors.As(err, &refusal):
			fmt.Println(refusal.Rule, refusal.Reason, refusal.RetryAfter)
		case errors.Is(err, client.ErrUnavailable):
			fmt.Println("nobody decides: go on, or give up, as suits the resource")
		case err != nil:
			fmt.Println("the work failed:", err)
		}
	}
	// Output:
	// working
	// orders limit 1h0m0s
}
