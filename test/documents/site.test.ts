import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readText, trackedFiles } from '../source-tree.js';

async function load(path: string): Promise<unknown> {
  const loaded: unknown = await import(new URL(`../../${path}`, import.meta.url).href);
  return loaded;
}

interface Group {
  title: string;
  items: { title: string; path: string }[];
}

const { pageOf, siteTarget, filesBeside } = (await load('site/document-tree.mjs')) as {
  pageOf: (path: string) => string;
  siteTarget: (path: string, target: string) => string;
  filesBeside: (path: string, text: string) => string[];
};
const { groupsOf, tasksOf } = (await load('site/navigation.mjs')) as {
  groupsOf: (documents: ReadonlyMap<string, string>) => Group[];
  tasksOf: (readme: string) => Group[];
};
const { checkLinks } = (await load('scripts/site/links.mjs')) as {
  checkLinks: (folder: string, base: string) => { links: number; wrong: string[] };
};

const documents = new Map(
  trackedFiles()
    .filter((path) => path.endsWith('.md') && !path.startsWith('site/'))
    .map((path) => [path, readText(path)]),
);

test('every document has a page of its own, and a place in the navigation', () => {
  const pages = [...documents.keys()].map(pageOf);
  expect(new Set(pages).size).toBe(pages.length);
  const placed = groupsOf(documents).flatMap(({ items }) => items.map(({ path }) => path));
  expect(['README.md', ...placed].sort()).toEqual([...documents.keys()].sort());
});

test('the navigation begins with the tasks of the README', () => {
  const tasks = tasksOf(readText('README.md'));
  expect(tasks.map(({ title }) => title)).toEqual(['Decide', 'Run it', 'Build on its API', 'Change it']);
  expect(tasks.every(({ items }) => items.length >= 3)).toBe(true);
});

test.each([
  ['README.md', 'docs/reference/states.md#commands', '/reference/states.md#commands'],
  ['docs/guide/during.md', '../../charts/convoy/README.md', '/charts/convoy.md'],
  ['docs/decisions/0005-simulator.md', '../../README.md#read-on', '/overview.md#read-on'],
  ['docs/guide/during.md', '../../docker-compose.yml', '/files/docker-compose.yml.txt'],
  ['README.md', 'docs/images/flow.svg', '/docs/images/flow.svg'],
  ['docs/reference/states.md', '#commands', '#commands'],
  ['docs/reference/states.md', 'https://example.com/', 'https://example.com/'],
])('in %s a link to %s leads to %s', (path, target, expected) => {
  expect(siteTarget(path, target)).toBe(expected);
});

test('files come along that text and pictures link, and none that a block of code names', () => {
  const text = '[a](../a.ts) <img src="b.png"> [c](c.md)\n```md\n[d](d.ts)\n```\n';
  expect(filesBeside('docs/x.md', text)).toEqual(['a.ts', 'docs/b.png']);
});

test('links of a built site are wrong without their page, file or anchor, outside of its path, or if they load', () => {
  const folder = siteOf({
    'index.html': '<a href="/c/a.html#here">1</a><a href="./a">2</a><img src="/c/p.png"><a href="https://example.com">',
    'a.html': '<h2 id="here"></h2><a href="#here">1</a><a href="https://example.com/">other</a>',
    'p.png': '',
  });
  expect(checkLinks(folder, '/c/')).toEqual({ links: 6, wrong: [] });

  const broken = siteOf({
    'index.html':
      '<a href="/c/none.html">1</a><a href="/c/a.html#none">2</a><a href="/a.html">3</a><a href="#no">4</a>' +
      '<script src="https://example.com/x.js"></script><img alt="p" src="p.png">',
    'a.html': '<script>const text = \'<a href="/c/ignored.html">\';</script>',
    'x.css': '@font-face { src: url("https://example.com/font.woff2") }',
  });
  expect(checkLinks(broken, '/c/').wrong).toEqual([
    'index.html: /c/none.html does not exist',
    'index.html: /c/a.html#none has no such anchor',
    'index.html: /a.html is not below /c/',
    'index.html: #no has no such anchor',
    'index.html: https://example.com/x.js is loaded from another host',
    'index.html: p.png does not exist',
    'x.css: https://example.com/font.woff2 is loaded from another host',
  ]);
});

test('documents have no tags that hosts leave out, such as names in angle brackets', () => {
  const allowed = /^<\/?(?:br|p|img|a)\b|^<https?:/;
  const wrong = [...documents].flatMap(([path, text]) => {
    const prose = text.replace(/^ *```[\s\S]*?^ *```|`[^`\n]*`|<!--[\s\S]*?-->/gm, '');
    const tags = [...prose.matchAll(/(?<!\\)<[a-z/][^>\n]*>/gi)].map(([tag]) => tag);
    return tags.filter((tag) => !allowed.test(tag)).map((tag) => `${path}: ${tag}`);
  });
  expect(wrong).toEqual([]);
});

/** A built site with these files, until the test ends. */
function siteOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'convoy-site-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}
