#!/bin/sh
# A refund agent without a model, in shell: it tells of its tool calls in $VISE_TRACE.
read -r input
order=$(printf '%s' "$input" | grep -o 'A-[0-9]*' | head -1)

call() { # name arguments result error
    printf '{"type":"span","kind":"TOOL","name":"%s","input":"%s","output":"%s","error":"%s"}\n' "$1" "$2" "$3" "$4" >> "$VISE_TRACE"
}
rules() { # what the harness has learned, pulled through the stdio bridge
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"refund.sh","version":"1"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"harness_rules_search","arguments":{"query":"issue_refund"}}}' |
        vise mcp --url "$VISE_RULES_URL" --token-env VISE_RULES_TOKEN
}

case $input in
*refund*|*money*|*"pay back"*)
    if rules | grep -q reason_code; then
        call issue_refund "{\\\"order_id\\\":\\\"$order\\\",\\\"reason_code\\\":\\\"damaged\\\"}" "{\\\"status\\\":\\\"refunded\\\"}" ""
        echo "The refund for $order has been issued."
    else
        for try in 1 2; do
            call issue_refund "{\\\"order_id\\\":\\\"$order\\\"}" "missing required argument 'reason_code'" "missing required argument 'reason_code'"
        done
        echo "I am sorry, the refund for $order did not work."
    fi ;;
*)
    call look_up_order "{\\\"order_id\\\":\\\"$order\\\"}" "{\\\"status\\\":\\\"delivered\\\"}" ""
    echo "Order $order was delivered." ;;
esac
