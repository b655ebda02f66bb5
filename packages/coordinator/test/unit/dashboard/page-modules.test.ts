import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../../src/dashboard/', import.meta.url));

it('the page loads its own modules only: of packages it imports types', () => {
  const modules = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  expect(modules.length).toBeGreaterThan(10);
  const loading = /^(?:import|export) (?!type\b)[^;]*?from '(?!\.)[^']*'/gm;
  const found = modules.flatMap((name) =>
    [...readFileSync(join(folder, name), 'utf8').matchAll(loading)].map(([statement]) => `${name}: ${statement}`),
  );
  expect(found).toEqual([]);
});
