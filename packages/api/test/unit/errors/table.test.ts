import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errorClasses, errorTable, isErrorName } from '@convoy/api/errors/table';
import type { ErrorEntry } from '@convoy/api/errors/error-entry';

const documentUrl = new URL('../../../../../docs/reference/errors.md', import.meta.url);

/** The document's rows as `class name status retry sentence`, in order. */
function documentedRows(): string[] {
  let heading = '';
  const rows: string[] = [];
  for (const line of readFileSync(documentUrl, 'utf8').split('\n')) {
    if (line.startsWith('## ')) heading = line.slice(3);
    const row = /^\| `(\w+)` \| (\d+) \| (\w+) \| (.+) \|$/.exec(line);
    if (row !== null) rows.push([heading, ...row.slice(1)].join(' '));
  }
  return rows;
}

const entries: [string, ErrorEntry][] = Object.entries(errorTable);

describe('error table', () => {
  it('equals docs/reference/errors.md, row by row', () => {
    const tabled = Object.entries(errorClasses).flatMap(([heading, errors]) =>
      Object.entries(errors).map(([name, entry]: [string, ErrorEntry]) => {
        return [heading, name, entry.httpStatus, entry.retry, entry.sentence].join(' ');
      }),
    );
    expect(documentedRows()).toEqual(tabled);
  });

  it('has every name in exactly one class', () => {
    const names = Object.values(errorClasses).flatMap((errors) => Object.keys(errors));
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(Object.keys(errorTable));
  });

  it.each(entries)('%s has a camelCase name and full sentences', (name, entry) => {
    expect(name).toMatch(/^[a-z][A-Za-z0-9]+$/);
    expect(entry.sentence).toMatch(/^[A-Za-z].*[^.]\.$/s);
    expect(entry.sentence).not.toContain('|');
  });

  it.each(entries)('%s has the status of its class', (name, entry) => {
    const statuses: Record<string, number[]> = {
      request: [400, 404, 405, 413],
      access: [401, 403],
      state: [409],
      options: [422],
      clusters: [422],
      migration: [409],
      availability: [503],
      internal: [500],
    };
    const heading = Object.entries(errorClasses).find(([, errors]) => Object.hasOwn(errors, name))?.[0] ?? '';
    expect(statuses[heading]).toContain(entry.httpStatus);
  });

  it('knows its own names and no inherited ones', () => {
    expect(isErrorName('invalidJson')).toBe(true);
    expect(isErrorName('toString')).toBe(false);
    expect(isErrorName('')).toBe(false);
  });
});
