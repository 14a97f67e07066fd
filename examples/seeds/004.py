"""Seed 004's Python client, unchanged but for the URL, which is the first argument, and a fallback where `requests` is not
installed. Run: python3 examples/seeds/004.py http://127.0.0.1:3000/rpc"""
import json
import sys
import urllib.request

try:
    import requests
except ImportError:
    class requests:
        class Response:
            def __init__(self, body):
                self.body = body

            def json(self):
                return json.loads(self.body)

        @staticmethod
        def post(url, json):
            body = globals()["json"].dumps(json).encode()
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(url, body, headers)
            with urllib.request.urlopen(request) as response:
                return requests.Response(response.read())

response = requests.post(
    sys.argv[1],
    json={
        "jsonrpc": "2.0",
        "method": "message/send",
        "params": {
            "message": {
                "role": "user",
                "parts": [{"type": "text", "text": "Hello"}]
            }
        },
        "id": 1
    }
)

result = response.json()
print(result["result"])
