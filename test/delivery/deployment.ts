import { execFileSync } from 'node:child_process';
import { documentTable, plainText } from '../documents/document-table.js';
import { readText, trackedFiles } from '../source-tree.js';

/** Whether a program is on the PATH and runs. */
export function runs(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Variables that the files below a folder name, each once. */
export function deployedVariables(folder: string): string[] {
  const files = trackedFiles().filter((path) => path.startsWith(folder) && !path.endsWith('.md'));
  return [...new Set(files.flatMap((path) => readText(path).match(/\bCONVOY_[A-Z0-9_]+/g) ?? []))].sort();
}

/** Variables that docs/reference/configuration.md documents. */
export function documentedVariables(): Set<string> {
  const columns = ['Instance', 'Coordinator'].flatMap((heading) =>
    documentTable('docs/reference/configuration.md', heading).rows.map(([, variable]) => plainText(variable)),
  );
  return new Set([...columns, 'CONVOY_URL', 'CONVOY_CA_FILE']);
}
