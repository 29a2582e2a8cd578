#!/usr/bin/env python3
"""Collects labelled samples of weak and of sound code for `cargo bench --bench labelled`.

    python3 benches/labelled/collect.py FOLDER

needs Python with venv, npm and node; it writes FOLDER/samples.jsonl, one sample a line:

    {"set", "language", "name", "text",
     "groups": [weaknesses this sample speaks about],
     "wrong": [{"lines": [first, last], 1-based, or null for the whole text, "groups": [...]}]}

The samples are not part of the project; their labels are:

* bandit (PyPI, with its examples): what bandit itself says of its own examples, which is what its
  tests hold it to; of medium and high severity or about secrets, and not that a module is
  imported.
* eslint-plugin-security and eslint-plugin-security-node (npm, with their tests): the `invalid` and
  `valid` texts of their rules' tests, as a whole.
"""

import json
import pathlib
import subprocess
import sys
import tarfile
import urllib.parse

BANDIT = "1.9.4"
PLUGINS = {"eslint-plugin-security": "4.1.0", "eslint-plugin-security-node": "1.1.4"}

# Weaknesses by the CWE that bandit names; some of its own choices are more general than the test.
BANDIT_GROUPS = {
    22: "CWE-22", 78: "CWE-78", 79: "CWE-79", 80: "CWE-79", 89: "CWE-89", 295: "CWE-295",
    319: "CWE-319", 326: "CWE-326", 327: "CWE-327", 330: "CWE-330", 377: "CWE-377",
    400: "CWE-400", 494: "CWE-494", 502: "CWE-502", 605: "CWE-605", 732: "CWE-732",
}
BANDIT_TESTS = {
    "B102": "CWE-95", "B307": "CWE-95", "B201": "CWE-489", "B310": "CWE-918", "B506": "CWE-502",
    "B105": "CWE-798", "B106": "CWE-798", "B107": "CWE-798", "B612": "CWE-94", "B609": "CWE-78", "B613": None, "B701": "CWE-79",
}
BANDIT_SECRETS = {"B105", "B106", "B107"}
BANDIT_XML = {"B313", "B314", "B315", "B316", "B317", "B318", "B319"}
RULES = {
    "detect-child-process": "CWE-78",
    "detect-disable-mustache-escape": "CWE-79",
    "detect-eval-with-expression": "CWE-95",
    "detect-eval-with-expr": "CWE-95",
    "detect-new-buffer": "CWE-676",
    "detect-buffer-unsafe-allocation": "CWE-908",
    "detect-non-literal-fs-filename": "CWE-22",
    "detect-non-literal-regexp": "CWE-1333",
    "non-literal-reg-expr": "CWE-1333",
    "detect-unsafe-regex": "CWE-1333",
    "detect-unsafe-regexp": "CWE-1333",
    "detect-pseudoRandomBytes": "CWE-330",
    "detect-insecure-randomness": "CWE-330",
    "detect-possible-timing-attacks": "CWE-208",
    "detect-dangerous-redirects": "CWE-601",
    "detect-html-injection": "CWE-79",
    "detect-nosql-injection": "CWE-943",
    "detect-sql-injection": "CWE-89",
    "detect-option-rejectunauthorized-in-nodejs-httpsrequest": "CWE-295",
    "disable-ssl-across-node-server": "CWE-295",
    "detect-security-missconfiguration-cookie": "CWE-614",
    "detect-runinthiscontext-method-in-nodes-vm": "CWE-95",
    "detect-option-multiplestatements-in-mysql": "CWE-89",
    "detect-improper-exception-handling": "CWE-390",
    "detect-non-literal-require": "CWE-95",
    "detect-non-literal-require-calls": "CWE-95",
    "detect-crlf": "CWE-117",
}


def run(*command, **options):
    """Runs a program; what it says goes to our stderr unless it is captured."""
    return subprocess.run(command, check=True, text=True, **options)


def sdist(folder, name, version):
    """The unpacked source distribution, by the index that pip uses."""
    kept = folder / f"{name}-{version}"
    if not kept.exists():
        asked = run("pip", "config", "get", "global.index-url", capture_output=True).stdout \
            if subprocess.run(["pip", "config", "get", "global.index-url"],
                              capture_output=True).returncode == 0 else ""
        index = asked.strip() or "https://pypi.org/simple"
        page = f"{index.rstrip('/')}/{name}/"
        listing = run("curl", "-sfL", page, capture_output=True).stdout
        start = listing.index(f"{name}-{version}.tar.gz")
        link = listing[listing.rindex('href="', 0, start) + 6:].split('"')[0].split("#")[0]
        archive = folder / f"{name}-{version}.tar.gz"
        run("curl", "-sfLo", str(archive), urllib.parse.urljoin(page, link))
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
    return kept


def bandit_samples(folder):
    """One sample a file: the lines bandit is held to."""
    source = sdist(folder, "bandit", BANDIT)
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        run("python3", "-m", "venv", str(folder / "venv"))
        run(str(python), "-m", "pip", "install", "-q", f"bandit=={BANDIT}")
    said = subprocess.run(
        [str(python), "-m", "bandit", "-q", "-r", "examples", "-f", "json"],
        cwd=source, capture_output=True, text=True).stdout
    wrong = {}
    for result in json.loads(said)["results"]:
        test = result["test_id"]
        group = BANDIT_TESTS.get(test, BANDIT_GROUPS.get(result["issue_cwe"].get("id")))
        group = "CWE-611" if test in BANDIT_XML else group
        is_light = result["issue_severity"] == "LOW" and test not in BANDIT_SECRETS
        if group is None or is_light or test.startswith("B4"):
            continue
        wrong.setdefault(result["filename"], []).append(
            {"lines": [min(result["line_range"]), max(result["line_range"])], "groups": [group]})
    for path in sorted((source / "examples").glob("*.py")):
        try:
            text = path.read_text("utf-8")
            compile(text, path.name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        name = f"examples/{path.name}"
        places = wrong.get(name, [])
        groups = sorted({group for place in places for group in place["groups"]})
        yield {"set": f"bandit {BANDIT}", "language": "python", "name": name, "text": text,
               "groups": groups, "wrong": places}


def plugin_samples(folder):
    """One sample a text of a rule's test."""
    here = pathlib.Path(__file__).parent
    for name, version in PLUGINS.items():
        kept = folder / f"{name}-{version}"
        if not kept.exists():
            kept.mkdir()
            archive = run("npm", "pack", "--silent", f"{name}@{version}", cwd=folder,
                          capture_output=True).stdout.strip()
            with tarfile.open(folder / archive) as packed:
                packed.extractall(kept, filter="data")
        tests = sorted((kept / "package").glob("test*/**/rules/*.js"))
        said = run("node", str(here / "rule-tests.cjs"), *map(str, tests), capture_output=True)
        for line in filter(None, said.stdout.split("\n")):
            test = json.loads(line)
            group = RULES.get(test["rule"])
            if group is not None:
                wrong = [{"lines": None, "groups": [group]}] if test["is_wrong"] else []
                yield {"set": f"{name} {version}", "language": "javascript",
                       "name": f"{test['rule']} {test['number']}", "text": test["text"],
                       "groups": [group], "wrong": wrong}


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "samples.jsonl", "w", encoding="utf-8") as out:
        for sample in [*bandit_samples(folder), *plugin_samples(folder)]:
            out.write(json.dumps(sample, ensure_ascii=False) + "\n")


main()
