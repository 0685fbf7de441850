"""Make a file:// database for govulncheck out of the vulnerability module's data/osv/*.json.

usage: mkvulndb.py MODULE_DIR DATABASE_DIR
"""
import glob
import json
import os
import sys

source, target = sys.argv[1], sys.argv[2]
for folder in ("ID", "index"):
    os.makedirs(os.path.join(target, folder), exist_ok=True)


def write(name, value):
    with open(os.path.join(target, name), "w") as out:
        json.dump(value, out, separators=(",", ":"))


modules, entries, newest = {}, [], ""
for path in sorted(glob.glob(source + "/data/osv/*.json")):
    with open(path) as file:
        entry = json.load(file)
    if entry.get("withdrawn"):
        continue
    write(f"ID/{entry['id']}.json", entry)
    newest = max(newest, entry["modified"])
    head = {"id": entry["id"], "modified": entry["modified"]}
    entries.append(head | ({"aliases": entry["aliases"]} if entry.get("aliases") else {}))
    for affected in entry["affected"]:
        fixes = [e["fixed"] for r in affected.get("ranges", []) for e in r["events"] if "fixed" in e]
        of_module = modules.setdefault(affected["package"]["name"], {})
        of_module[entry["id"]] = head | ({"fixed": fixes[-1]} if fixes else {})

write("index/db.json", {"modified": newest})
write("index/vulns.json", entries)
write("index/modules.json", [{"path": name, "vulns": list(v.values())} for name, v in sorted(modules.items())])
print(len(entries), "entries")
