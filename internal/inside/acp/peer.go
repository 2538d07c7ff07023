package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	sdk "github.com/coder/acp-go-sdk"
)

// peer is the other end of the protocol, an agent: what we need of the library.
type peer interface {
	ask(ctx context.Context, method string, params any) (json.RawMessage, error)
	tell(ctx context.Context, method string, params any) error
}

// answerer answers what the agent asks of its client; known is false for what it never does.
type answerer func(method string, params json.RawMessage) (answer any, known bool)

// connect speaks to an agent over its standard streams. Notifications must not come this way: the library gives up when
// they come faster than they are taken.
func connect(answer answerer, in io.Writer, out io.Reader) peer {
	return &connection{sdk.NewConnection(func(_ context.Context, method string, params json.RawMessage) (any,
		*sdk.RequestError) {
		result, known := answer(method, params)
		if !known {
			return nil, sdk.NewMethodNotFound(method)
		}
		return result, nil
	}, in, out)}
}

type connection struct{ *sdk.Connection }

func (c *connection) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	result, err := sdk.SendRequest[json.RawMessage](c.Connection, ctx, method, params)
	if no, ok := err.(*sdk.RequestError); ok { //nolint:errorlint // the library wraps none
		return nil, &refusal{method, no.Code, no.Message, no.Data}
	}
	return result, err
}

func (c *connection) tell(ctx context.Context, method string, params any) error {
	return c.SendNotification(ctx, method, params)
}

// refusal is an agent's error for a request.
type refusal struct {
	method string
	code   int
	words  string
	data   any
}

func (e *refusal) Error() string {
	s := fmt.Sprintf("%s: %s (%d)", e.method, e.words, e.code)
	if e.data != nil {
		if data, err := json.Marshal(e.data); err == nil {
			s += ": " + string(data)
		}
	}
	return s
}

// The methods that we use, and the version of the protocol.
const (
	version     = sdk.ProtocolVersionNumber
	initialize  = sdk.AgentMethodInitialize
	newSession  = sdk.AgentMethodSessionNew
	loadSession = sdk.AgentMethodSessionLoad
	setMode     = sdk.AgentMethodSessionSetMode
	setOption   = sdk.AgentMethodSessionSetConfigOption
	doPrompt    = sdk.AgentMethodSessionPrompt
	cancelTurn  = sdk.AgentMethodSessionCancel
	update      = sdk.ClientMethodSessionUpdate
	permission  = sdk.ClientMethodSessionRequestPermission
	elicitation = sdk.ClientMethodElicitationCreate
)
