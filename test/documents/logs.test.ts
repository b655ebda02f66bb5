import { describe, expect, test } from 'vitest';
import ts from 'typescript';
import { documentTable, plainText } from './document-table.js';
import { readText, trackedFiles } from '../source-tree.js';

/** One call that writes a line. */
interface LogCall {
  readonly place: string;
  readonly level: string;
  /** More than one where a condition chooses; none where no name can be read. */
  readonly events: readonly string[];
}

const levels = new Set(['trace', 'debug', 'info', 'warn', 'error', 'fatal']);

function logCallsIn(path: string): LogCall[] {
  const file = ts.createSourceFile(path, readText(path), ts.ScriptTarget.Latest, true);
  const calls: LogCall[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression, name } = node.expression;
      if (levels.has(name.text) && /(?:^|[.#])(?:logger|log)$/.test(expression.getText())) {
        const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
        calls.push({ place: `${path}:${line}`, level: name.text, events: eventsOf(node.arguments[0]) });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return calls;
}

function eventsOf(fields: ts.Expression | undefined): string[] {
  if (fields === undefined || !ts.isObjectLiteralExpression(fields)) return [];
  const event = fields.properties.find((each) => ts.isPropertyAssignment(each) && each.name.getText() === 'event');
  return event !== undefined && ts.isPropertyAssignment(event) ? namesIn(event.initializer) : [];
}

function namesIn(value: ts.Expression): string[] {
  if (ts.isStringLiteral(value)) return [value.text];
  return ts.isConditionalExpression(value) ? [...namesIn(value.whenTrue), ...namesIn(value.whenFalse)] : [];
}

const calls = trackedFiles()
  .filter((path) => /^packages\/(?:api|coordinator|instance)\/src\/.*\.ts$/.test(path))
  .flatMap(logCallsIn);

describe('every line of the log', () => {
  test('has an event', () => {
    expect(calls.length).toBeGreaterThan(30);
    expect(calls.filter(({ events }) => events.length === 0).map(({ place }) => place)).toEqual([]);
    expect(calls.flatMap(({ events }) => events).filter((event) => !/^[a-z][A-Za-z]+$/.test(event))).toEqual([]);
  });
});

describe('docs/reference/logs.md', () => {
  test('lists every event once, with its level and a meaning, and no other', () => {
    const written = new Set(calls.flatMap(({ level, events }) => events.map((event) => `${event} ${level}`)));
    // The logger itself names lines that have no event.
    written.add('library info');
    const { rows } = documentTable('docs/reference/logs.md', 'Events');
    const listed = rows.map(([event = '', level = '']) => `${plainText(event)} ${level}`);
    expect(listed).toEqual([...written].sort());
    expect(rows.filter(([, , meaning = '']) => meaning.length < 20)).toEqual([]);
  });
});
