// Package dns stands in for lego's list of DNS providers, since some of their modules are not to be had here.
package dns

import (
	"fmt"

	"github.com/go-acme/lego/v5/challenge"
)

// NewDNSChallengeProviderByName knows none.
func NewDNSChallengeProviderByName(name string) (challenge.Provider, error) {
	return nil, fmt.Errorf("this build has no DNS provider, %s included", name)
}
