#!/bin/sh
# Takes orders for a user as long as the rules let it, and then writes a report, of which only so many may be
# under way at a time. It needs curl, and a daemon with the rules beside it:
#
#   sidecard serve --rules examples/local/rules
#   sh examples/local/client.sh bob
set -eu
user=${1:-bob}
socket=${SIDECARD_HTTP:-unix:/run/sidecard/http.sock}
socket=${socket#unix:}

# api WHAT JSON prints the answer, and fails where there is none.
api() { curl -sS --fail-with-body --unix-socket "$socket" "http://sidecard/v1/$1" -d "$2"; }

# field NAME prints a field of the JSON on standard input; nothing if it is not there.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }

for _ in 1 2 3 4; do
	decision=$(api decide "{\"resource\": \"orders\", \"attributes\": {\"path\": \"/orders\", \"header.x-user-id\": \"$user\"}}")
	if [ "$(echo "$decision" | field allowed)" = true ]; then
		echo "order: allowed, $(echo "$decision" | field remaining) left"
	else
		echo "order: refused by $(echo "$decision" | field rule) ($(echo "$decision" | field reason))"
	fi
done

decision=$(api acquire '{"resource": "reports"}') # held until its turn, if a rule queues
if [ "$(echo "$decision" | field allowed)" != true ]; then
	echo "report: come again later"
	exit 1
fi
token=$(echo "$decision" | field token)
failed=true
complete() { [ -z "$token" ] || api complete "{\"token\": \"$token\", \"error\": $failed}" >/dev/null; }
trap complete EXIT # however it ends
echo "report: written"
failed=false
