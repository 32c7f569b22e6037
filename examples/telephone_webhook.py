"""Answers the voice webhook of a telephone number: it sends each call to Repartee (docs/telephony.md).

    REPARTEE_TOKEN=... python examples/telephone_webhook.py wss://voice.example/v1/phone 8080

Enter the address of this program as the number's voice webhook at Twilio, behind a proxy with a certificate. Everybody
who can reach it can read the token: let the proxy check the provider's signature, or use a TwiML bin instead.
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import quoteattr

TWIML = """<?xml version="1.0" encoding="UTF-8"?>
<Response>
  <Connect>
    <Stream url={url}><Parameter name="token" value={token} /></Stream>
  </Connect>
  <Say>The assistant is not available. Please call later.</Say>
</Response>
"""


class Webhook(BaseHTTPRequestHandler):
    """Sends the same instructions to every call."""

    timeout = 10  # seconds for a request

    def do_POST(self) -> None:
        """Answers with TwiML."""
        url, token = sys.argv[1], os.environ.get("REPARTEE_TOKEN", "")
        body = TWIML.format(url=quoteattr(url), token=quoteattr(token)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Webhook) as server:
        print(f"listening on port {server.server_port}", flush=True)
        server.serve_forever()
