"""A desk clerk without a visible model that is instrumented: it sends one OpenTelemetry span per tool call, as JSON."""
import json, os, re, secrets, sys, time, urllib.request

order = (re.findall(r"A-[0-9]+", sys.argv[1]) or ["A-0"])[0]
attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up_order",
              "gen_ai.tool.call.arguments": json.dumps({"order_id": order}, separators=(",", ":")), "gen_ai.tool.call.result": "delivered"}
span = {"traceId": secrets.token_hex(16), "spanId": secrets.token_hex(8), "name": "execute_tool look_up_order", "kind": 1,
        "startTimeUnixNano": str(time.time_ns()), "endTimeUnixNano": str(time.time_ns()),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]}
name, _, value = os.environ["OTEL_EXPORTER_OTLP_HEADERS"].partition("=")
head = {"Content-Type": "application/json", name: urllib.request.unquote(value)}
body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
urllib.request.urlopen(urllib.request.Request(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces", body, head)).close()
print("Order " + order + " was delivered.")
