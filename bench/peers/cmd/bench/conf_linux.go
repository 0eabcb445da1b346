package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
)

// The configurations of nginx and haproxy: one process, one thread, no log, the common answer.
const (
	nginxConf = `daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr crit;
events { worker_connections 6000; }
http {
	access_log off;
	client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;
	keepalive_requests 1000000000;
	server {
		listen %[2]s backlog=4096;
		location = /plaintext { default_type text/plain; return 200 "Hello, World!"; }
		location / { return 404; }
	}
}
`
	haproxyConf = `global
	nbthread 1
	maxconn 6000
defaults
	mode http
	timeout client 60s
	timeout server 60s
	timeout connect 5s
frontend web
	bind %[2]s
	http-after-response set-header Date "%%[date,http_date]"
	http-request return status 200 content-type text/plain string "Hello, World!" if { path /plaintext }
	http-request return status 404
`
	nginxStreamConf = `daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr crit;
%[4]s
events { worker_connections 18000; }
stream {
	server {
		listen %[2]s backlog=8192;
		proxy_pass %[3]s;
		proxy_timeout 600s;
	}
}
`
	// Debian's nginx has it in a module.
	nginxStreamModule = "/usr/lib/nginx/modules/ngx_stream_module.so"

	haproxyTCPConf = `global
	nbthread 1
	maxconn 6000
defaults
	mode tcp
	option splice-auto
	timeout client 60s
	timeout server 60s
	timeout connect 5s
frontend in
	bind %[2]s
	default_backend origin
backend origin
	server origin %[3]s
`
)

func writeConf(dir, addr, origin string) error {
	module := ""
	if _, err := os.Stat(nginxStreamModule); err == nil {
		module = "load_module " + nginxStreamModule + ";"
	}
	for name, text := range map[string]string{"nginx.conf": nginxConf, "haproxy.conf": haproxyConf, "haproxy-tcp.conf": haproxyTCPConf, "nginx-stream.conf": nginxStreamConf} {
		text = strings.NewReplacer("%[1]s", dir, "%[2]s", addr, "%[3]s", origin, "%[4]s", module, "%%", "%").Replace(text)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// freeAddr is an address that nobody had a moment ago.
func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}
