// Prints the texts that the tests of ESLint rules call valid and invalid, one JSON object a line:
// {"rule", "number", "is_wrong", "text"}. The tests are loaded with a tester that only listens.

'use strict';

const Module = require('node:module');

let number = 0;

function tell(rule, test, isWrong) {
  const text = typeof test === 'string' ? test : test.code;
  number += 1;
  process.stdout.write(`${JSON.stringify({ rule, number, is_wrong: isWrong, text })}\n`);
}

class RuleTester {
  run(rule, _, { valid, invalid }) {
    number = 0;
    valid.forEach((test) => tell(rule, test, false));
    invalid.forEach((test) => tell(rule, test, true));
  }
}

// A test needs ESLint, its rule and parsers; only the tester matters.
const nothing = new Proxy(function () {}, { get: () => nothing, apply: () => nothing });
Module._load = ((load) => function (name, parent, isMain) {
  if (name === 'eslint') return { RuleTester };
  const isReal = name.startsWith('/') || name.startsWith('node:');
  return isReal ? load.call(this, name, parent, isMain) : nothing;
})(Module._load);

for (const path of process.argv.slice(2)) {
  try {
    require(path);
  } catch (error) {
    process.stderr.write(`${path}: ${error.message}\n`);
  }
}
