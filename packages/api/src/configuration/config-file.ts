import { basename } from 'node:path';
import { type Document, isNode, LineCounter, parseDocument, visit } from 'yaml';
import { ConvoyError } from '../errors/convoy-error.js';
import { readNamedFile } from './named-file.js';

/** The content of a configuration file. */
export interface ConfigFile {
  /** Its value, usually an object of settings. */
  readonly file: unknown;
  /** File and line of the value at a path, for example `convoy.yaml, line 3`; null if the file does not have it. */
  readonly placeOf: (path: readonly PropertyKey[]) => string | null;
}

/**
 * Reads a configuration file: YAML 1.2, of which JSON is a part.
 * @throws ConvoyError `invalidConfiguration` when the file is unreadable or neither YAML nor JSON; the error has file
 * and line, and does not repeat the file's text
 */
export function readConfigFile(path: string): ConfigFile {
  const name = basename(path);
  const lines = new LineCounter();
  const document = parseDocument(readNamedFile(path, `configuration (${name})`).toString(), {
    lineCounter: lines,
    prettyErrors: false,
  });
  const problem = problemOf(document);
  if (problem !== null) throw syntaxError(problem.code, name, lines.linePos(problem.at));
  return {
    file: valueOf(document, name),
    placeOf(path) {
      const node = document.getIn(path, true);
      const start = isNode(node) ? node.range?.[0] : undefined;
      return start === undefined ? null : `${name}, line ${lines.linePos(start).line}`;
    },
  };
}

function valueOf(document: Document.Parsed, name: string): unknown {
  if (document.contents === null) return {};
  try {
    return document.toJS();
  } catch {
    // The library refuses aliases that would multiply without end.
    throw syntaxError('TOO_MANY_ALIASES', name, { line: 1, col: 1 });
  }
}

function syntaxError(code: string, name: string, { line, col }: { line: number; col: number }): ConvoyError {
  return new ConvoyError(
    'invalidConfiguration',
    `configuration (${name}, line ${line}, column ${col}): is neither YAML nor JSON (${code}). Correct its syntax.`,
  );
}

/** The first syntax error, by the library's code alone: its message may contain text of the file, and so a secret. */
function problemOf(document: Document.Parsed): { code: string; at: number } | null {
  const [error] = document.errors;
  if (error !== undefined) return { code: error.code, at: error.pos[0] };
  let at: number | undefined;
  visit(document, {
    Alias(_key, alias) {
      if (alias.resolve(document) === undefined) at ??= alias.range?.[0] ?? 0;
    },
  });
  return at === undefined ? null : { code: 'ALIAS_WITHOUT_ANCHOR', at };
}
