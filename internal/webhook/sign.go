package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"ql/internal/redacted"
)

// The headers of the Standard Webhooks specification.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

const secretPrefix = "whsec_"

var errSecret = errors.New("a webhook secret is not whsec_ and base64")

// sign returns the headers of a call: one signature for each secret.
func sign(id string, at time.Time, body []byte, secrets []redacted.Text) (map[string][]string, error) {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		key, err := parseSecret(secret.Reveal())
		if err != nil {
			return nil, err
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return map[string][]string{
		headerID:        {id},
		headerTimestamp: {timestamp},
		headerSignature: {strings.Join(signatures, " ")},
	}, nil
}

func parseSecret(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return nil, errSecret
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) == 0 {
		return nil, errSecret
	}
	return key, nil
}
