#!/usr/bin/env bash
# Two teams and the operator of a gateway, on this machine: the shop reads the covers of games, the blog their titles, and the next
# version of the gateway has no covers. `content-gateway` must be on the PATH. Each line that begins with `say` is a step of a pipeline.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -r "$folder"' EXIT
cd "$folder"
export DATABASE_URL="sqlite:$folder/content.db" HOST=127.0.0.1

say() { printf '\n%s\n' "$*"; }

# Starts a gateway at a free port, and sets the variable to its address.
start() {
  local -n address=$1
  PORT=0 content-gateway serve "${@:2}" >"$1.log" 2>&1 &
  until address=$(sed -n 's|^ *Docs: *\(http.*\)/docs/.*|\1|p' "$1.log") && [[ -n $address ]]; do
    kill -0 $! || { cat "$1.log" >&2; exit 1; }
    sleep 0.1
  done
}

# Makes a key for a team.
key() { content-gateway keys create --user "$(content-gateway users create --nickname "$1")" --scopes contract:write --name "$1"; }

# The tests of a team, and the contract that they make: TEAM TEST MEMBER. What is read is the team's to say, once.
run_tests() {
  printf '{"consumer": "%s", "contract": "%s", "needs": [{"operation": "game.list", "test": "%s", "sends": ["/limit", "/page"], "reads": ["/items/*/%s"], "reasons": []}]}\n' \
    "$1" "$version" "$2" "$3" >"$1.json"
  content-gateway record --to "$sandbox" --consumer "$1" --out "$1.json" --port 0 -- bash -euo pipefail -c '
    curl --silent --show-error --fail "$CONTENT_GATEWAY_URL/api/trpc/game.list" --header "Test-Name: $(node -p "encodeURIComponent(process.argv[1])" "$0")" \
      --header "Content-Type: application/json" --data "{\"json\":{\"limit\":3,\"page\":1}}" | grep --quiet "\"$1\""' "$2" "$3"
}

ask_deployment() { content-gateway can-i-deploy --to "$1" --contracts "$2.json"; }
ask_consumers() { content-gateway can-i-deploy --document new.json; }

version=$(content-gateway --version)
start gateway
start sandbox --sandbox
shop_key=$(key shop)
blog_key=$(key blog)

say 'The shop: tests, asks the deployment, deploys, publishes'
run_tests shop 'shows covers' coverUrl
ask_deployment "$gateway" shop
GATEWAY_KEY=$shop_key content-gateway contract publish shop.json --to "$gateway" --tag production

say 'The blog: tests, asks the deployment, deploys, publishes'
run_tests blog 'shows titles' title
ask_deployment "$gateway" blog
GATEWAY_KEY=$blog_key content-gateway contract publish blog.json --to "$gateway" --tag production

say 'The operator: asks with a document that has no covers'
curl --silent --show-error --fail "$gateway/openapi.json" >old.json
node -e '
  const document = JSON.parse(fs.readFileSync("old.json", "utf8"));
  const { GameSummary: game } = document.components.schemas;
  delete game.properties.coverUrl;
  game.required = game.required.filter((name) => name !== "coverUrl");
  fs.writeFileSync("new.json", JSON.stringify(document));'
if ask_consumers; then exit 1; fi

say 'The shop: shows titles instead, and does all of it again'
cp shop.json covers.json
run_tests shop 'shows titles' title
ask_deployment "$gateway" shop
GATEWAY_KEY=$shop_key content-gateway contract publish shop.json --to "$gateway" --tag production

say 'The operator: asks again, and releases'
ask_consumers
node -e 'http.createServer((_, reply) => reply.end(fs.readFileSync("new.json"))).listen(0, "127.0.0.1", function () { console.log(this.address().port); });' >port &
until [[ -s port ]]; do sleep 0.1; done
released="http://127.0.0.1:$(cat port)"

say 'Both teams: ask the new deployment; the shop as it was would be refused'
ask_deployment "$released" shop
ask_deployment "$released" blog
if ask_deployment "$released" covers; then exit 1; fi
say 'Done'
