"""A refund agent of thirty lines on the OpenAI wire protocol. It knows nothing of vise but two variables."""
import json, os, sys, urllib.request

def post(url, token, body):
    head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), head)) as r:
        return json.load(r)

def rules(query):  # what the harness has learned about the task at hand, pulled over MCP
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "harness_rules_search", "arguments": {"query": query}}}
    result = post(os.environ["VISE_RULES_URL"], os.environ["VISE_RULES_TOKEN"], call)["result"]
    return "".join(part.get("text", "") for part in result["content"])

def issue_refund(args):
    if "reason_code" not in args:
        return {"error": "missing required argument 'reason_code'"}
    return {"status": "refunded", "order_id": args["order_id"]}

TOOLS = {"look_up_order": lambda args: {"order_id": args["order_id"], "status": "delivered"}, "issue_refund": issue_refund}
turn = json.load(sys.stdin)
messages = [{"role": "system", "content": "You are a refund desk. Known rules: " + rules("issue_refund")}]
for past in turn["history"]:
    messages += [{"role": "user", "content": past["input"]}, {"role": "assistant", "content": past["answer"]}]
messages.append({"role": "user", "content": turn["input"]})
while True:
    request = {"model": "toy", "messages": messages, "tools": [{"type": "function", "function": {"name": name}} for name in TOOLS]}
    reply = post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", os.environ["OPENAI_API_KEY"], request)["choices"][0]["message"]
    messages.append(reply)
    if not reply.get("tool_calls"):
        print(reply["content"])
        break
    for call in reply["tool_calls"]:
        result = TOOLS[call["function"]["name"]](json.loads(call["function"]["arguments"]))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
