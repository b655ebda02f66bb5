import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readText, root } from '../source-tree.js';

const recipes = (readText('CONTRIBUTING.md').split('## Recipes\n')[1] ?? '')
  .split(/^## /m)[0]
  ?.split(/^### /m)
  .slice(1)
  .map((text) => ({ title: text.split('\n')[0] ?? '', steps: text.match(/^\d+\. .+$/gm) ?? [], text }));

describe('CONTRIBUTING.md', () => {
  test('begins with the commands that a newcomer needs', () => {
    const [first = ''] = readText('CONTRIBUTING.md').split(/^## /m).slice(1);
    expect(first.match(/^\| `[^`]+` \|/gm)).toEqual([
      '| `npm run setup` |',
      '| `npm test -- --changed` |',
      '| `npx vitest run --project unit PATH` |',
      '| `npm run demo` |',
    ]);
  });

  test('has a recipe for each change that passes many files', () => {
    expect(recipes?.map(({ title }) => title)).toEqual([
      'An option of the start',
      'A metric',
      'An error',
      'An event',
      'A hazard',
    ]);
  });

  test.each(recipes ?? [])('$title: names files that exist, by their own names', ({ steps, text }) => {
    expect(steps.map((step) => Number.parseInt(step, 10))).toEqual(steps.map((_, index) => index + 1));
    const links = [...text.matchAll(/\[([^\]]+)\]\(([^)#]+)\)/g)].map(([, name = '', path = '']) => ({ name, path }));
    expect(links.length).toBeGreaterThan(4);
    const wrong = links.filter(({ name, path }) => path.split('/').at(-1) !== name || !existsSync(join(root, path)));
    expect(wrong).toEqual([]);
  });
});
