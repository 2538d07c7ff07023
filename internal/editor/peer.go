package editor

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/cco-dev/cco/internal/rpc"
	"github.com/cco-dev/cco/internal/safetext"
)

// peer is the other end of the protocol, an editor: what we need of the library.
type peer interface {
	ask(ctx context.Context, method string, params, answer any) error
	tell(ctx context.Context, method string, params any) error
	gone() <-chan struct{}
}

// answerer answers what the editor asks. What it does not know is an *unknownError, what makes no sense a *paramsError.
type answerer func(ctx context.Context, method string, params json.RawMessage) (any, error)

type unknownError struct{ method string }

func (e *unknownError) Error() string { return "no method " + e.method }

type paramsError struct{ why string }

func (e *paramsError) Error() string { return e.why }

// connect speaks to an editor. It asks for what it wants one by one, and tells us little: the library's queue holds it.
func connect(answer answerer, in io.Reader, out io.Writer) peer {
	p := rpc.Bound(in, out)
	return &connection{sdk.NewConnection(func(ctx context.Context, method string, params json.RawMessage) (any,
		*sdk.RequestError) {
		result, err := answer(ctx, method, params)
		return result, refusal(err)
	}, p.Out, p.In)}
}

func refusal(err error) *sdk.RequestError {
	if err == nil {
		return nil
	}
	if no, ok := errors.AsType[*unknownError](err); ok {
		return sdk.NewMethodNotFound(no.method)
	}
	code := sdk.NewInternalError(nil).Code
	if errors.As(err, new(*paramsError)) {
		code = sdk.NewInvalidParams(nil).Code
	}
	return &sdk.RequestError{Code: code, Message: safetext.Text(err.Error())}
}

type connection struct{ *sdk.Connection }

func (c *connection) ask(ctx context.Context, method string, params, answer any) error {
	raw, err := sdk.SendRequest[json.RawMessage](c.Connection, ctx, method, params)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, answer)
}

func (c *connection) tell(ctx context.Context, method string, params any) error {
	return c.SendNotification(ctx, method, params)
}

func (c *connection) gone() <-chan struct{} { return c.Done() }

// The methods that we use, and the version of the protocol.
const (
	version      = sdk.ProtocolVersionNumber
	initialize   = sdk.AgentMethodInitialize
	authenticate = sdk.AgentMethodAuthenticate
	newSession   = sdk.AgentMethodSessionNew
	loadSession  = sdk.AgentMethodSessionLoad
	doPrompt     = sdk.AgentMethodSessionPrompt
	cancelTurn   = sdk.AgentMethodSessionCancel
	sendUpdate   = sdk.ClientMethodSessionUpdate
	permission   = sdk.ClientMethodSessionRequestPermission
	elicitation  = sdk.ClientMethodElicitationCreate
)
