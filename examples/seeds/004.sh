#!/bin/sh
# Seed 004's curl: the card once, then message/send a hundred times at once. Prints the card, then one answer per line.
# Run: sh examples/seeds/004.sh http://127.0.0.1:3000/rpc
set -eu
url=$1

post() {
  curl --silent --show-error --fail -X POST "$url" \
    -H "Content-Type: application/json" \
    -d "$1"
}

# With a number it is one of the hundred; its answer is printed whole, not between the others'.
if [ $# -gt 1 ]; then
  answer=$(post '{
    "jsonrpc": "2.0",
    "method": "message/send",
    "params": {
      "message": {
        "role": "user",
        "parts": [{"type": "text", "text": "Request '"$2"'"}]
      }
    },
    "id": '"$2"'
  }')
  printf '%s\n' "$answer"
  exit
fi

post '{
    "jsonrpc": "2.0",
    "method": "agent/card",
    "params": {},
    "id": 1
  }'
echo
seq 1 100 | xargs -P 100 -I N sh "$0" "$url" N
