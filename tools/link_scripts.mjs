// Parses the scripts that the arguments name, and links each module with what it imports. Runs none of them.
// Prints a line for each problem. For the line of an error in a module: node --input-type=module --check < module

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import vm from "node:vm";

const MODULE = /^(import|export)\b/m; // a script without them is parsed as a classic one
const modules = new Map();
const problems = new Set(); // a missing export is reported once, not by each module above it

for (const path of process.argv.slice(2)) {
  const source = readFileSync(path, "utf8");
  try {
    if (MODULE.test(source)) modules.set(path, new vm.SourceTextModule(source, { identifier: path }));
    else new vm.Script(source, { filename: path });
  } catch (error) {
    problems.add(`${path} does not parse: ${error.message}`);
  }
}

function findModule(specifier, importer) {
  const path = join(dirname(importer.identifier), specifier);
  if (modules.has(path)) return modules.get(path);
  throw new Error(`${importer.identifier} imports ${path}, which is missing, does not parse or is no module`);
}

for (const module of modules.values()) {
  try {
    if (module.status === "unlinked") await module.link(findModule);
  } catch (error) {
    // A module above one that failed has no problem of its own.
    if (error.code !== "ERR_VM_MODULE_LINK_FAILURE") problems.add(error.message);
  }
}

for (const problem of problems) console.log(problem);
