import { describe, expect, test } from 'vitest';
import { readText } from '../source-tree.js';

const scripts = new URL('../../scripts/', import.meta.url);

async function script<Exports>(path: string): Promise<Exports> {
  return (await import(new URL(path, scripts).href)) as Exports;
}

const { wrongFilesOf } = await script<{
  wrongFilesOf: (
    tarball: { name: string; folder: string; files: string[] },
    read: (path: string) => string,
  ) => string[];
}>('packages/packed-files.mjs');
const { sectionOf } = await script<{
  sectionOf: (text: string, version: string) => { date: string | undefined; notes: string };
}>('release/changelog.mjs');
const { repositoryUrl } = await script<{
  repositoryUrl: (env: Record<string, string>, origin: () => string | undefined) => string | undefined;
}>('release/repository.mjs');
const { commonVersion, setVersion } = await script<{ commonVersion: () => string; setVersion: (to: string) => void }>(
  'release/versions.mjs',
);
const { billOfInstallation } = await script<{
  billOfInstallation: (bill: object, manifests: object, main: string) => { components: { name: string }[] };
}>('release/bill-of-materials.mjs');

describe('a packed package', () => {
  const texts = new Map([
    ['p/package.json', '{ "dependencies": { "mongodb": "7", "@convoy/api": "1" } }'],
    ['p/bin/run.mjs', `import '../dist/run.js';`],
    ['p/dist/run.js', `// from 'comment'\nimport { a } from './a.js'; import 'node:fs'; await import('mongodb/lib');`],
    ['p/dist/a.js', `export * from '@convoy/api/errors'; new URL('../static/', import.meta.url);`],
  ]);
  const read = (path: string): string => texts.get(path) ?? '';
  const files = ['package.json', 'README.md', 'LICENSE', 'bin/run.mjs', 'dist/run.js', 'dist/a.js'];
  const wrongOf = (packed: string[]): string[] => wrongFilesOf({ name: 'p', folder: 'p', files: packed }, read);

  test('is complete with what it imports and declares', () => {
    expect(wrongOf(files)).toEqual([]);
  });

  test('is not complete without its README or a module, and has no sources', () => {
    const packed = [...files.filter((file) => !/README|dist\/a/.test(file)), 'src/a.ts', 'dist/run.js.map'];
    expect(wrongOf(packed)).toEqual([
      'p lacks README.md.',
      'p contains src/a.ts.',
      'p contains dist/run.js.map.',
      'p: dist/run.js needs ./a.js, which an installation does not have.',
    ]);
  });

  test('needs no package but those it declares', () => {
    const other = (path: string): string => (path === 'p/dist/a.js' ? `import x from 'playwright-core';` : read(path));
    expect(wrongFilesOf({ name: 'p', folder: 'p', files }, other)).toEqual([
      'p: dist/a.js needs playwright-core, which an installation does not have.',
    ]);
  });
});

describe('the changelog', () => {
  test('has a section for the version of the packages', () => {
    expect(sectionOf(readText('CHANGELOG.md'), commonVersion()).notes).toMatch(/^### Added\n/);
  });

  test('dates what is released, and nothing else', () => {
    const text = '# Changelog\n\n## [1.1.0] - Unreleased\n\n- new\n\n## [1.0.0] - 2026-01-02\n\n- old\n';
    expect(sectionOf(text, '1.0.0')).toEqual({ date: '2026-01-02', notes: '- old' });
    expect(sectionOf(text, '1.1.0')).toEqual({ date: undefined, notes: '- new' });
  });

  test.each([
    ['2.0.0', 'has no section'],
    ['1.0.0', 'is empty'],
  ])('without words for %s ends the release: %s', (version, reason) => {
    expect(() => sectionOf('## [1.0.0] - 2026-01-02\n\n## [0.9.0]\n\n- old\n', version)).toThrow(reason);
  });
});

describe('the address of the repository', () => {
  test('is that of the workflow before that of the remote', () => {
    const env = { GITHUB_SERVER_URL: 'https://git.example', GITHUB_REPOSITORY: 'owner/name' };
    expect(repositoryUrl(env, () => 'git@other.example:x/y.git')).toBe('git+https://git.example/owner/name.git');
  });

  test.each([
    ['git@git.example:owner/name.git', 'git+https://git.example/owner/name.git'],
    ['ssh://git@git.example/owner/name', 'git+https://git.example/owner/name.git'],
    ['https://user:secret@git.example/owner/name.git', 'git+https://git.example/owner/name.git'],
    ['/srv/git/name', undefined],
    [undefined, undefined],
  ])('of the remote %s is %s', (remote, expected) => {
    expect(repositoryUrl({}, () => remote)).toBe(expected);
  });
});

test('a version that npm does not take changes nothing', () => {
  expect(() => setVersion('2.1')).toThrow('2.1 is no version');
  expect(commonVersion()).toMatch(/^\d+\.\d+\.\d+/);
});

test('the bill of materials has what an installation brings, and nothing for development', () => {
  const component = (name: string): object => ({ 'bom-ref': `${name}@1.0.0`, name: name.split('/').at(-1) });
  const bill = {
    metadata: {},
    components: ['@convoy/cli', '@convoy/api', 'driver', 'bson', 'vitest'].map(component),
    dependencies: [
      { ref: '@convoy/cli@1.0.0', dependsOn: ['@convoy/api@1.0.0', 'vitest@1.0.0'] },
      { ref: '@convoy/api@1.0.0', dependsOn: ['driver@1.0.0'] },
      { ref: 'driver@1.0.0', dependsOn: ['bson@1.0.0'] },
    ],
  };
  const manifests = {
    '@convoy/cli': { name: '@convoy/cli', version: '1.0.0', dependencies: { '@convoy/api': '1.0.0' } },
    '@convoy/api': { name: '@convoy/api', version: '1.0.0', dependencies: { driver: '^1.0.0' } },
  };
  expect(billOfInstallation(bill, manifests, '@convoy/cli')).toMatchObject({
    metadata: { component: { name: '@convoy/cli', type: 'application' } },
    components: [{ name: '@convoy/api' }, { name: 'driver' }, { name: 'bson' }],
  });
});
