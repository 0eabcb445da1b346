package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kinds are a listener of each kind, and an upstream for it.
var kinds = map[string][2]string{
	"tcp": {"tcp://h:1", "tcp://h:2"}, "unix": {"unix:///s", "tcp://h:2"},
	"udp": {"udp://h:1", "udp://h:2"}, "http": {"http://h:1", "tcp://h:2"},
}

func ofKind(kind, head, more string) string {
	k := kinds[kind]
	return fmt.Sprintf("%s\n[[route]]\nlisten = ['%s']\nupstream = [{address = '%s'}]\n%s\n", head, k[0], k[1], more)
}

// Each setting is taken by the kinds of routes for which it does something, and refused by others.
func TestASettingIsRefusedWhereItDoesNothing(t *testing.T) {
	for text, acts := range map[string]string{
		"name = 'x'":                                                      "tcp unix udp http",
		"balance = 'least_connections'":                                   "tcp unix udp http",
		"balance = 'source_hash'":                                         "tcp udp http",
		"retries = 1":                                                     "tcp unix http",
		"max_connections = 1":                                             "tcp unix udp http",
		"connect_timeout = '1s'":                                          "tcp unix http",
		"idle_timeout = '1s'":                                             "tcp unix udp http",
		"header_timeout = '1s'":                                           "http",
		"reply_timeout = '1s'":                                            "http",
		"max_requests = 1":                                                "http",
		"min_rate = 1":                                                    "http",
		"pass_headers = ['X-Real-IP']":                                    "http",
		"pass_headers = ['X-Forwarded-Port']":                             "http",
		"pass_headers = ['X-Forwarded-Proto']":                            "",
		"pass_headers = ['Accept']":                                       "",
		"underscores = true":                                              "http",
		"proxy_from = ['10.0.0.0/8']":                                     "tcp unix http",
		"proxy_to = 1":                                                    "tcp unix",
		"server_names = ['a.example']":                                    "tcp unix",
		"server_names = ['*']":                                            "",
		"server_names = ['a.*.example']":                                  "",
		"server_names = ['192.0.2.1']":                                    "",
		"server_names = ['a.example:443']":                                "",
		"server_names = ['b\u00fccher.example']":                          "",
		"server_names = ['xn--bcher-kva.example']":                        "tcp unix",
		"tls = {certificate = 'c', key = 'k'}":                            "tcp unix http",
		"tls = {certificate = 'c'}":                                       "",
		"upstream_tls = {server_name = 'x'}":                              "",
		"health = {fails = 1}":                                            "tcp unix udp http",
		"health = {fails = -1}":                                           "",
		"health = {eject = '1s'}":                                         "tcp unix udp http",
		"health = {interval = '1s'}":                                      "tcp unix http",
		"health = {timeout = '1s'}":                                       "",
		"health = {path = '/up'}":                                         "",
		"health = {interval = '1s', timeout = '1s', path = '/up'}":        "tcp unix http",
		"health = {interval = '1s', path = 'up'}":                         "",
		"health = {interval = '1s', path = '/%zz'}":                       "",
		"health = {interval = '1s', path = '/up#x'}":                      "",
		"health = {interval = '1s', path = '/up now'}":                    "",
		"health = {interval = '1s', path = '/%20?a=b%20c'}":               "tcp unix http",
		"health = {interval = '1s', eject = '1s'}":                        "",
		"udp = {max_rate = 1}":                                            "udp",
		"udp = {max_sessions = 1, max_per_source = -1, max_replies = -1}": "udp",
		"udp = {max_sessions = -1}":                                       "",
		"udp = {max_rate = -1}":                                           "",
		"header_timeout = '1s'\nserver_names = ['a.example']":             "tcp unix",
		"header_timeout = '1s'\nproxy_from = ['10.0.0.0/8']":              "tcp unix http",
		"header_timeout = '1s'\ntls = {certificate = 'c', key = 'k'}":     "tcp unix http",
		"proxy_from = ['10.0.0.0/8']\nbalance = 'source_hash'":            "tcp unix http",
		"max_connections = 1\n[route.upstream_tls]\ninsecure = true":      "",
		"max_connections = 1 # of the file":                               "tcp unix udp http",
		"tls = {certificate = 'c', key = 'k'}\nhealth = {interval = '1s', timeout = '1s'}": "tcp unix http",
	} {
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			_, err := Parse(ofKind(kind, "", text))
			if slices.Contains(strings.Fields(acts), kind) {
				require.NoError(t, err, "%s: %s", kind, text)
			} else {
				require.ErrorContains(t, err, `route "`, "%s: %s", kind, text)
			}
		}
	}
}

func TestASettingOfTheFileIsRefusedWhereItDoesNothing(t *testing.T) {
	for text, acts := range map[string]string{
		"max_connections = 1": "tcp unix http", "max_per_source = 1": "tcp http", "keep_alive = '1s'": "tcp http",
		"admin_token = 'x'": "", "admin_hosts = ['h']": "", "admin_timeout = '1s'": "",
		"admin = 'h:1'\nadmin_token = 'x'\nadmin_hosts = ['h']\nadmin_timeout = '1s'": "tcp unix udp http",
		"admin = 'h:1'\nadmin_hosts = ['h:1']":                                        "",
		"admin = 'h:1'\nadmin_hosts = ['h.']":                                         "",
		"coalesce = '1ms'":                                                            "tcp unix udp http",
		"coalesce = '1ms'\nbackend = 'epoll'":                                         "tcp unix udp http",
		"coalesce = '1ms'\nbackend = 'io_uring'":                                      "",
		"drain_timeout = '1s'\naccess_log = true\nlog_rate = -1":                      "tcp unix udp http",
	} {
		for kind := range kinds {
			_, err := Parse(ofKind(kind, text, ""))
			if slices.Contains(strings.Fields(acts), kind) {
				require.NoError(t, err, "%s: %s", kind, text)
			} else {
				require.Error(t, err, "%s: %s", kind, text)
			}
		}
	}
}

func TestUpstreamTLSNeedsAnUpstreamWithTLS(t *testing.T) {
	text := "[[route]]\nlisten = ['http://h:1']\nupstream = [{address = 'h:2'}, {address = 'tls://h:3'}]\nupstream_tls = {%s}"
	_, err := Parse(fmt.Sprintf(text, "server_name = 'x', insecure = true"))
	require.NoError(t, err)
	_, err = Parse(fmt.Sprintf(text, "ca = '/ca', insecure = true"))
	require.ErrorContains(t, err, "insecure")
}

func TestRoutesOfAListenerAgreeOnTheTimeForAHeader(t *testing.T) {
	named := ofKind("tcp", "", "name = 'a'\nserver_names = ['a.example']\nheader_timeout = '1s'")
	_, err := Parse(named + ofKind("tcp", "", "name = 'rest'\nheader_timeout = '1s'"))
	require.NoError(t, err, "the rest waits for a name as well")
	_, err = Parse(named + ofKind("tcp", "", "name = 'rest'"))
	require.ErrorContains(t, err, "header_timeout must be the same")
}

func TestNamesDifferNeitherByCaseNorByALastDot(t *testing.T) {
	for _, n := range []string{"A.example", "a.example."} {
		_, err := Parse(ofKind("tcp", "", "server_names = ['a.example']") + ofKind("tcp", "", "server_names = ['"+n+"']"))
		require.ErrorContains(t, err, "different server_names", n)
	}
}

func TestASocketIsTheSameHoweverItIsWritten(t *testing.T) {
	for _, same := range [][]string{
		{"tcp://:1", "tcp://0.0.0.0:1", "tcp://[::]:1", "http://:1"}, {"unix:///run/a", "unix:///run//a", "unix:///run/x/../a"},
		{"udp://:1", "udp://0.0.0.0:1"},
	} {
		var first Socket
		for i, at := range same {
			up := "tcp://h:1"
			if strings.HasPrefix(at, "udp") {
				up = "udp://h:1"
			}
			c, err := Parse(fmt.Sprintf("[[route]]\nlisten = ['%s']\nupstream = [{address = '%s'}]", at, up))
			require.NoError(t, err)
			if i == 0 {
				first = c.Routes[0].Sockets()[0]
			}
			require.Equal(t, first, c.Routes[0].Sockets()[0], at)
		}
	}
}

func TestWhatIsFixedAtTheStartDoesNotChange(t *testing.T) {
	start := &Config{Admin: "h:1"}
	for _, c := range []*Config{
		{}, {Admin: "h:2"}, {Admin: "h:1", Workers: 1}, {Admin: "h:1", Backend: "epoll"}, {Admin: "h:1", BusyPoll: 1},
		{Admin: "h:1", Coalesce: 1}, {Admin: "h:1", AdminTimeout: 1}, {Admin: "h:1", LogRate: 1},
	} {
		require.ErrorContains(t, c.Unchanged(start), "restart the proxy")
	}
	require.NoError(t, (&Config{Admin: "h:1", AdminToken: "x", AccessLog: true, Drain: 1}).Unchanged(start))
}
