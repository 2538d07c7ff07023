package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// final is the status of an answer that no repetition will change. It was found with the real CLIs: codex repeats a 403
// five times and takes a 400, claude repeats a 400 five times with less and less in it and takes 402 and 403, gemini
// and opencode take 400 and 403; all of them repeat 401, 429 and 5xx. On a terminal claude adds to a 403 the advice to
// log in.
func (p Provider) final() int {
	if p.wire == wireAnthropic {
		return http.StatusPaymentRequired
	}
	return http.StatusBadRequest
}

// errorBody is an error in the provider's own form, which its CLI can read.
func (p Provider) errorBody(status int, why string) []byte {
	why = "cco: " + why
	var body any
	switch p.wire {
	case wireAnthropic:
		kind := "invalid_request_error"
		switch {
		case status == http.StatusPaymentRequired:
			kind = "billing_error"
		case status == http.StatusForbidden:
			kind = "permission_error"
		case status == http.StatusNotFound:
			kind = "not_found_error"
		case status >= 500:
			kind = "api_error"
		}
		body = map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": why}}
	case wireGemini:
		word := "FAILED_PRECONDITION"
		switch {
		case status == http.StatusForbidden:
			word = "PERMISSION_DENIED"
		case status == http.StatusNotFound:
			word = "NOT_FOUND"
		case status >= 500:
			word = "UNAVAILABLE"
		}
		body = map[string]any{"error": map[string]any{"code": status, "message": why, "status": word}}
	default:
		kind := "invalid_request_error"
		if status >= 500 {
			kind = "server_error"
		}
		body = map[string]any{"error": map[string]any{"message": why, "type": kind, "param": nil, "code": "cco"}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return []byte("{}")
	}
	return text
}

// answerError answers a request on a model route with an error.
func (x *exchange) answerError(w http.ResponseWriter, status int, decision Decision, why string) {
	why = maskText(why, x.rt.up.Key.mask())
	x.entry.Status, x.entry.Decision = status, decision
	if decision == Failed {
		x.entry.Error = why
	} else {
		x.entry.Reason = why
	}
	body := append(x.rt.up.Provider.errorBody(status, why), '\n')
	x.entry.Out = int64(len(body))
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Should-Retry", fmt.Sprint(status >= 500)) // Anthropic's and OpenAI's own clients obey it
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// trouble describes a model that can't be reached, for the box and the record.
func trouble(err error) (status int, why string) {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var late net.Error
	switch {
	case errors.As(err, &dns):
		return http.StatusBadGateway, "the model's host name can't be resolved: " + dns.Err
	case errors.As(err, &cert), errors.As(err, &unknown):
		return http.StatusBadGateway, "the model's certificate is not one that this host trusts: " + err.Error()
	case errors.As(err, &record):
		return http.StatusBadGateway, "the model's host does not speak TLS there"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return http.StatusGatewayTimeout, "the model did not answer in time"
	}
	return http.StatusBadGateway, "the model can't be reached: " + printable(err.Error(), 300)
}
